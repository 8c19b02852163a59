package access

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"attache"
)

// Somebody gives a person whom the ruling lets in, for a dry run that names nobody:
// of those in `people` the one with the lowest number, people before chats and bots;
// tg:user:1 where everyone is let in; else an owner. It is "" when nobody is let in.
func (r Ruling) Somebody() attache.PersonID {
	list := slices.Collect(maps.Keys(r.people.listed))
	switch {
	case r.Kind == KindNone:
		return ""
	case r.people.everyone:
		return attache.UserID(1)
	case len(list) == 0 || r.Kind == KindOwner:
		list = slices.Collect(maps.Keys(r.owners))
	}
	if len(list) == 0 {
		return ""
	}
	other := func(id attache.PersonID) int {
		if strings.HasPrefix(string(id), "tg:user:") {
			return 0
		}
		return 1
	}
	return slices.MinFunc(list, func(a, b attache.PersonID) int {
		return cmp.Or(cmp.Compare(other(a), other(b)), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}
