package brain

import (
	"slices"

	"attache/internal/views/sql"
)

// Views lists every view that a context or a role's state names, each once, sorted.
func (b *Brain) Views() []string {
	var names []string
	for f := range b.Contexts.Files() {
		for _, d := range f.Data {
			if d.View != "" {
				names = append(names, d.View)
			}
		}
	}
	for _, r := range b.Frame.Roles {
		for _, w := range r.State {
			names = append(names, w.Text)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Schemas lists the schema.sql of every feature that is switched on.
func (b *Brain) Schemas() []sql.Schema {
	var out []sql.Schema
	for _, f := range b.Frame.Features {
		path := "features/" + string(f.ID) + "/schema.sql"
		if file := b.Tree.File(path); file != nil && f.Enabled {
			out = append(out, sql.Schema{Feature: f.ID, File: path, Text: file.Text})
		}
	}
	return out
}
