package brain

import "slices"

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
