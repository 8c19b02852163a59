package contexts

import (
	"maps"
	"slices"

	"attache"
)

// Names lists every context that a file of the brain has, whether or not it loads, each
// once, sorted: those that are Known.
func (l *Library) Names() []attache.ContextID {
	ids := slices.Concat(l.ids, slices.Collect(maps.Keys(l.absent)))
	slices.Sort(ids)
	return slices.Compact(ids)
}
