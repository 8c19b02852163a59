package brain

import (
	"slices"

	"attache"
	"attache/access"
	"attache/constitution"
	"attache/contexts"
	"attache/internal/brainfile"
)

// contextFrame gives what contexts need to know of the frame: MANIFEST's knobs and
// the features with theirs.
func contextFrame(frame constitution.Frame) contexts.Frame {
	m := frame.Manifest
	out := contexts.Frame{
		Chars: m.Contexts.Chars, Keep: m.Contexts.Keep, TurnChars: m.Contexts.TurnChars, MaxActive: m.Contexts.MaxActive,
		Timeout: m.Contexts.CodeTimeoutMs, Rows: m.State.Rows, Views: m.State.Views,
		Features: make(map[attache.FeatureID]contexts.Feature, len(frame.Features)),
	}
	for _, f := range frame.Features {
		out.Features[f.ID] = contexts.Feature{Off: !f.Enabled, Path: f.Path, Chars: f.Contexts.Chars, Keep: f.Contexts.Keep, Timeout: f.Contexts.CodeTimeoutMs}
	}
	return out
}

// Admission gives what a role says of contexts: what it admits, whether it may open
// some, its budgets and the views of its agent state. A role that does not load
// admits nothing.
func (b *Brain) Admission(id attache.RoleID) contexts.Role {
	role, _ := b.Frame.Role(id)
	out := contexts.Role{ID: id, TurnChars: role.ContextBudget.TurnChars, MaxActive: role.ContextBudget.MaxActive}
	for _, w := range role.Contexts {
		out.All = out.All || w.Text == "*"
		out.Contexts = append(out.Contexts, attache.ContextID(w.Text))
	}
	for _, w := range role.State {
		out.State = append(out.State, w.Text)
	}
	out.CanOpen = slices.ContainsFunc(role.Capabilities, func(w brainfile.Word) bool {
		return slices.Contains([]string{"context:read", "context:*", "*"}, w.Text)
	})
	return out
}

// names gives what access.yaml may name: the roles, and every context that a file of the
// brain has. It changes with those files, so the policy is read anew with each brain.
func (b *Brain) names() access.Names {
	out := access.Names{Roles: b.roles, Contexts: map[attache.ContextID]access.Context{}}
	for _, id := range b.Contexts.Names() {
		out.Contexts[id] = access.Context{}
		if f, _ := b.Contexts.File(id); f != nil {
			out.Contexts[id] = access.Context{Loads: true, KeyKind: f.KeyKind, Path: f.Path}
		}
	}
	return out
}
