package origins

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"

	"attache"
	"attache/internal/archivetest"
)

// The archives hold every line of the table, every refusal and every case of a pin.
func TestSends(t *testing.T) {
	archivetest.Run(t, "sends", 3, 1, func(t *testing.T, in []txtar.File) []string {
		facts := readFacts(string(in[0].Data))
		var b strings.Builder
		for line := range strings.Lines(string(in[1].Data)) {
			b.WriteString(line)
			if !strings.HasPrefix(line, "#") {
				b.WriteString(come(readSend(t, facts, strings.TrimSuffix(line, "\n"))))
			}
		}
		return []string{b.String()}
	})
}

// come writes what a send comes to.
func come(s Send) string {
	o, left, refusal := ForSend(s)
	var b strings.Builder
	switch {
	case refusal != "":
		fmt.Fprintf(&b, "  refused: %s\n", refusal)
	case o == nil:
		b.WriteString("  nothing\n")
	default:
		fmt.Fprintf(&b, "  %s of %s carries %v\n", or(o.Run, "no run"), or(string(o.Feature), "no feature"), o.Reach)
	}
	for _, l := range left {
		fmt.Fprintf(&b, "  left %v: %s\n", l.Entry, l.Why)
	}
	return b.String()
}

func or(s, none string) string {
	if s == "" {
		return none
	}
	return s
}

type facts map[attache.ContextID]attache.ContextFact

// readFacts reads lines of id: feature, kind of its key or -, words of when.
func readFacts(text string) facts {
	out := facts{}
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		parts := strings.Split(rest, ", ")
		f := attache.ContextFact{ID: attache.ContextID(id), Feature: attache.FeatureID(parts[0]), KeyKind: strings.Trim(parts[1], "-")}
		for w := range strings.FieldsSeq(parts[2]) {
			f.When = append(f.When, attache.Link(w))
		}
		out[f.ID] = f
	}
	return out
}

func (f facts) of(id attache.ContextID) (attache.ContextFact, string) {
	if fact, ok := f[id]; ok {
		return fact, ""
	}
	return attache.ContextFact{}, fmt.Sprintf("there is no context %q", id)
}

// readSend reads one send, its parts between bars.
func readSend(t *testing.T, f facts, line string) Send {
	s := Send{Role: "desk", Fact: f.of}
	var admits []attache.ContextID
	for part := range strings.SplitSeq(line, " | ") {
		words := strings.Fields(part)
		switch words[0] {
		case "run":
			s.Run = &attache.Run{Kind: "heartbeat", ID: "daily", Feature: "coach"}
			for _, w := range words[1:] {
				s.Run.Reach = append(s.Run.Reach, readEntry(w))
			}
		case "turn":
		case "engine":
			s.Engine = true
		case "about":
			s.About = attache.About(readEntry(words[1]))
		case "to":
			s.To = readPin(words[1:])
		case "at":
			s.At = readPin(words[1:])
		case "admits":
			for _, w := range words[1:] {
				admits = append(admits, attache.ContextID(w))
			}
		default:
			t.Fatalf("a send has no part %q", part)
		}
	}
	s.Admits = func(id attache.ContextID) bool { return slices.Contains(admits, id) }
	return s
}

func readEntry(s string) attache.ReachEntry {
	context, key, _ := strings.Cut(s, "@")
	key = strings.NewReplacer("!blank", " ", "!control", "a\nb").Replace(key)
	return attache.ReachEntry{Context: attache.ContextID(context), Key: attache.EntityKey(key)}
}

func readPin(words []string) attache.Pin {
	p := attache.Pin{Bound: map[attache.ContextID]attache.EntityKey{}}
	for _, w := range words {
		if w == "unread" {
			p.Unread = true
			continue
		}
		context, key, _ := strings.Cut(w, "=")
		p.Bound[attache.ContextID(context)] = attache.EntityKey(key)
	}
	return p
}

// world is a few contexts of every sort, one of which does not load.
func world() facts {
	return readFacts("a: f, a id, reply\nb: f, b id, reply run\nc: f, -, reply\nd: f, d id, run\ne: g, -, run\n")
}

// sends draws any send there is: keys that fit and keys that do not, pins that hold
// and pins that cannot be read.
func sends(t *rapid.T) Send {
	context := rapid.SampledFrom([]attache.ContextID{"a", "b", "c", "d", "e", "gone"})
	key := rapid.SampledFrom([]attache.EntityKey{"", "", "1", "2", " ", "x\ny"})
	entry := rapid.Custom(func(t *rapid.T) attache.ReachEntry {
		return attache.ReachEntry{Context: context.Draw(t, "context"), Key: key.Draw(t, "key")}
	})
	pin := rapid.Custom(func(t *rapid.T) attache.Pin {
		return attache.Pin{
			Bound:  rapid.MapOfN(context, rapid.SampledFrom([]attache.EntityKey{"", "1", "2"}), 0, 4).Draw(t, "bound"),
			Unread: rapid.IntRange(0, 4).Draw(t, "unread") == 0,
		}
	})
	s := Send{Role: "desk", Fact: world().of, At: pin.Draw(t, "at"), To: pin.Draw(t, "to"), Engine: rapid.Bool().Draw(t, "engine")}
	if rapid.IntRange(0, 3).Draw(t, "run") > 0 {
		s.Run = &attache.Run{Kind: "hook", ID: "h", Feature: "f", Reach: rapid.SliceOfN(entry, 0, 5).Draw(t, "reach")}
	}
	if rapid.Bool().Draw(t, "named") {
		s.About = attache.About(entry.Draw(t, "about"))
	}
	if rapid.IntRange(0, 2).Draw(t, "whole") == 0 {
		s.About.Context = ""
	}
	admits := rapid.SliceOf(context).Draw(t, "admits")
	s.Admits = func(id attache.ContextID) bool { return slices.Contains(admits, id) }
	return s
}

// Whatever a run reaches and a sender names: a place never gets a key that it is not
// bound to, an unread one gets none, and no other key than a place of the turn lets
// in is put there by about.
func TestNoKeyPassesAPin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sends(t)
		o, _, _ := ForSend(s)
		if o == nil {
			return
		}
		for _, e := range o.Reach {
			bound, pinned := s.To.Bound[e.Context]
			if e.Key != "" && (s.To.Unread || pinned && e.Key != bound) {
				t.Errorf("%v is recorded in a place with the pin %+v", e, s.To)
			}
			own, pinned := s.At.Bound[e.Context]
			put := e.Key != "" && e.Key == s.About.Key && !s.Engine && (s.About.Context == e.Context || !slices.Contains(s.Run.Reach, e))
			if put && e.Key != bound && (s.At.Unread || pinned && e.Key != own) {
				t.Errorf("%v is recorded by about from a place with the pin %+v", e, s.At)
			}
		}
	})
}

// Equal sends come to equal things; a refusal comes alone and never to the engine;
// what a run sends has its mark; an entry is recorded once and is one of the send's.
func TestForSendIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sends(t)
		o, left, refusal := ForSend(s)
		again, leftAgain, refusalAgain := ForSend(s)
		if diff := cmp.Diff([]any{o, left, refusal}, []any{again, leftAgain, refusalAgain}); diff != "" {
			t.Errorf("twice is not the same: %s", diff)
		}
		switch {
		case refusal != "" && (o != nil || left != nil || s.Engine):
			t.Errorf("a refusal of engine %v with %+v and %v: %s", s.Engine, o, left, refusal)
		case refusal == "" && s.Run != nil && (o == nil || o.Run != "hook:h" || o.Feature != "f"):
			t.Errorf("a run's send remembers %+v", o)
		case s.Run == nil && (s.Engine || s.About == attache.About{}) && o != nil:
			t.Errorf("a turn that is no run remembers %+v", o)
		case o == nil:
			return
		}
		for i, e := range o.Reach {
			inReach := s.Run != nil && s.Run.Reach.Has(e.Context)
			if slices.Contains(o.Reach[:i], e) || !inReach && s.About.Context != e.Context {
				t.Errorf("%v stands in %v", e, o.Reach)
			}
		}
	})
}

// A send without about is refused exactly when contexts come back on a reply and
// none of them is without an entity or has a key, from the run or from the place.
func TestRefusedWithoutAKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sends(t)
		s.About, s.Engine = attache.About{}, false
		if s.Run == nil {
			s.Run = &attache.Run{Kind: "hook", ID: "h", Feature: "f", Reach: attache.Reach{{Context: "a"}}}
		}
		want := false
		for _, e := range s.Run.Reach {
			want = want || slices.Contains([]attache.ContextID{"a", "b", "c"}, e.Context)
		}
		for _, e := range s.Run.Reach {
			switch e.Context {
			case "c":
				want = false
			case "a", "b":
				want = want && e.Key == "" && (s.To.Unread || s.To.Bound[e.Context] == "")
			}
		}
		_, _, refusal := ForSend(s)
		if (refusal != "") != want {
			t.Errorf("%v to %+v is refused with %q, want a refusal: %v", s.Run.Reach, s.To, refusal, want)
		}
		for _, e := range s.Run.Reach {
			name := fmt.Sprintf("%q (keyed by %s id)", e.Context, e.Context)
			if want && strings.Contains("ab", string(e.Context)) && !strings.Contains(refusal, name) {
				t.Errorf("the refusal does not name %s: %s", name, refusal)
			}
		}
	})
}
