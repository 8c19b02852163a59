package doctor

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"attache"
	"attache/contexts"
	"attache/internal/brain"
	"attache/internal/brainfile"
	"attache/internal/views/sql"
)

// named is one place that names a view.
type named struct {
	check, file string
	line, col   int
	view, by    string
}

// namings lists every place that names a view: the data of contexts, and the state
// of the roles that are switched on.
func namings(b *brain.Brain) []named {
	var out []named
	for f := range b.Contexts.Files() {
		for _, d := range f.Data {
			if d.View != "" {
				out = append(out, ofData(f, d))
			}
		}
	}
	for _, r := range b.Frame.Roles {
		if r.Off {
			continue
		}
		for _, w := range r.State {
			out = append(out, named{"Agent state", r.Path, w.Line, w.Col, w.Text, ""})
		}
	}
	return out
}

func ofData(f *contexts.File, d contexts.Data) named {
	return named{featureContexts, f.Path, d.Line, d.Col, d.View, d.By}
}

// views checks that what contexts and roles name exists, and that Postgres takes the
// statements of SQL tools, against the features' schema.sql applied in a transaction
// that is rolled back (matrix H7). Without a database it says that it did not look
// (matrix H11).
func (s Subject) views(ctx context.Context) []Finding {
	list, made, called := namings(s.Brain), s.Brain.Schemas(), called(s.Brain)
	unseen := func(why string) []Finding {
		var out []Finding
		if len(list) > 0 || len(made) > 0 {
			out = unlooked(featureContexts, "the views that contexts and roles name, and their columns,", why)
		}
		if len(called) > 0 {
			out = append(out, unlooked(sqlTools, "the statements of SQL tools", why)...)
		}
		return out
	}
	switch {
	case len(list) == 0 && len(made) == 0 && len(called) == 0:
		return nil
	case s.DB == nil:
		return unseen(s.Gap.What)
	}
	asked := candidates(made)
	for _, n := range list {
		asked = append(asked, n.view)
	}
	slices.Sort(asked)
	found, problems, err := sql.Check(ctx, s.DB.Pool(), made, slices.Compact(asked), trials(called))
	if err != nil {
		return unseen(err.Error())
	}
	refused := refusedSchemas(made, problems)
	return append(ofViews(list, refused, found.Columns, problems), ofStatements(called, refused, found.Refusals)...)
}

// unlooked says what was not looked at.
func unlooked(check, what, why string) []Finding {
	return []Finding{{Level: Skipped, Check: check, What: what + " were not looked at, because that needs the database: " + why,
		Do: "run the doctor where the database can be reached, or ask doctor_check or /doctor of the running bot"}}
}

// ofViews judges what a database would have. The views of a schema.sql that is
// refused are not called missing: the one mistake is named already.
func ofViews(list []named, refused []sql.Schema, columns map[string][]string, problems []attache.Problem) []Finding {
	var out []Finding
	for _, p := range problems {
		out = append(out, ofProblem(brainEntities, p))
	}
	excused := candidates(refused)
	there := slices.Collect(maps.Keys(columns))
	for _, n := range list {
		has, exists := columns[n.view]
		switch {
		case !exists && slices.Contains(excused, n.view):
		case !exists:
			out = append(out, Finding{Level: Warn, Check: n.check, What: fmt.Sprintf("the view %s does not exist", n.view),
				Do: brainfile.Suggest(n.view, there, "define it in the feature's schema.sql")}.at(n.file, n.line, n.col))
		case n.by != "" && !slices.Contains(has, n.by):
			out = append(out, Finding{Level: Warn, Check: n.check, What: fmt.Sprintf("the view %s has no column %s to filter by", n.view, n.by),
				Do: brainfile.Suggest(n.by, has, "add the column to the view")}.at(n.file, n.line, n.col))
		}
	}
	return out
}

// refusedSchemas gives the schemas that have a mistake.
func refusedSchemas(made []sql.Schema, problems []attache.Problem) []sql.Schema {
	var out []sql.Schema
	for _, s := range made {
		if slices.ContainsFunc(problems, func(p attache.Problem) bool { return p.File == s.File }) {
			out = append(out, s)
		}
	}
	return out
}

var creates = regexp.MustCompile(`(?i)\bcreate\s+(?:or\s+replace\s+)?(?:materialized\s+)?(?:recursive\s+)?(?:view|table)\s+(?:if\s+not\s+exists\s+)?(?:public\.)?"?([\pL_][\pL\pN_$]*)`)

// candidates lists what the texts seem to define: names to suggest, and to ask after.
func candidates(made []sql.Schema) []string {
	var out []string
	for _, s := range made {
		for _, m := range creates.FindAllStringSubmatch(s.Text, -1) {
			out = append(out, strings.ToLower(m[1]))
		}
	}
	return out
}
