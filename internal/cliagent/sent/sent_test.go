package sent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// A ticket over six turns: what each of them adds to what the agent knows.
//
// row F7
func TestTicketOverSixTurns(t *testing.T) {
	ticket := func(link, rows string) string {
		return `<feature-context name="ticket" feature="support" entity="T-481" link="` + link + `">` + "\n" +
			`<section name="instructions" kind="control">Be kind.</section>` + "\n" +
			`<section name="card" kind="data" rows="1">` + rows + `</section>` + "\n" + `</feature-context>`
	}
	stub := `<feature-context name="policy" feature="returns" attached="no" reason="budget" knob="contexts.maxActive">not attached — budget; call context_open("policy") to read it</feature-context>`
	var state State
	turn := func(name, tail string, whole bool, want ...Op) {
		t.Helper()
		var ops []Op
		ops, state = Next(stored(t, state), []byte(tail), whole)
		if want == nil {
			want = []Op{}
		}
		if diff := cmp.Diff(want, ops); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	turn("the first", ticket("reply", "open"), false, Op{Attach, "ticket", "T-481", ticket("reply", "open")})
	turn("nothing changed but the link", ticket("chat", "open"), false)
	turn("its rows changed", ticket("chat", "closed")+"\n"+stub, false,
		Op{View, "ticket", "T-481", `<feature-context name="ticket" feature="support" entity="T-481" link="chat">` + "\n" +
			`<section name="card" kind="data" rows="1">closed</section>` + "\n" + `</feature-context>`},
		Op{Withdraw, "policy", "", stub})
	turn("the same stub", ticket("chat", "closed")+"\n"+stub, false)
	turn("nobody knows what it has", ticket("chat", "closed"), true,
		Op{Withdraw, "policy", "", `<feature-context name="policy" feature="returns" attached="no" reason="withdrawn">no longer attached; what you were sent of it does not hold any more</feature-context>`},
		Op{Attach, "ticket", "T-481", ticket("chat", "closed")})
	turn("nothing", "", false,
		Op{Withdraw, "ticket", "T-481", `<feature-context name="ticket" feature="support" entity="T-481" attached="no" reason="withdrawn">no longer attached; what you were sent of it does not hold any more</feature-context>`})
	turn("nothing again", "", false)
}

// What an agent opened itself needs no second telling.
func TestOpenedIsKnown(t *testing.T) {
	opened := `<feature-context name="policy" feature="returns" link="ask">` + "\n" + `<section name="instructions" kind="control">30 days.</section>` + "\n" + `</feature-context>`
	state := State{}.With([]byte(opened))
	if ops, _ := Next(state, []byte(opened), false); len(ops) != 0 {
		t.Errorf("told again: %v", ops)
	}
	if ops, _ := Next(state, nil, false); len(ops) != 1 || ops[0].Op != Withdraw {
		t.Errorf("not withdrawn: %v", ops)
	}
}

// stored sends a state through the form that is kept.
func stored(t testing.TB, s State) (out State) {
	t.Helper()
	raw, err := json.Marshal(s)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// memory is an agent that carries operations out: what it has, by name and key.
type memory map[string]map[string]string

// has is what a tail gives an agent that forgets everything between turns.
func has(tail string) memory {
	m := memory{}
	for _, b := range split(tail) {
		m.attach(Op{Name: b.Kind + b.Name, Entity: b.Entity, Text: b.text})
	}
	return m
}

func (m memory) attach(o Op) {
	parts := map[string]string{}
	for _, b := range split(o.Text) {
		if b.Line != "" {
			parts["line"] = b.text
		}
		for _, p := range b.Sections {
			parts["section "+p.Name] = p.text
		}
	}
	m[o.Name+"/"+o.Entity] = parts
}

func (m memory) carryOut(ops []Op) {
	for _, o := range ops {
		b := split(o.Text)[0]
		named := o
		named.Name = b.Kind + o.Name
		key := named.Name + "/" + o.Entity
		switch {
		case o.Op == Attach, o.Op == Withdraw && strings.Contains(o.Text, `reason="budget"`):
			m.attach(named)
		case o.Op == View:
			for _, p := range b.Sections {
				if delete(m[key], "section "+p.Name); !strings.Contains(p.text, `stub="gone"`) {
					m[key]["section "+p.Name] = p.text
				}
			}
		case b.Kind == notesKind: // its withdrawal is a note itself
			delete(m, notesKind+notesKind+"/")
		default:
			delete(m, key)
		}
	}
}

// tails draws a tail in the form of decisions § 5. Names are few, so that blocks come
// and go; what stands in them may be anything.
func tails(t *rapid.T, label string) string {
	hostile := rapid.SampledFrom([]string{"a", "b", "", "</section>", "</feature-context>\nand 3 more", `" attached="no`, "<agent-state>", "x\n\ny", "é&amp;"})
	section := func(name, kind string) string {
		return fmt.Sprintf(`<section name="%s" kind="%s">%s</section>`, html.EscapeString(name), kind, html.EscapeString(hostile.Draw(t, "inside")))
	}
	sections := func() (all []string) {
		for _, name := range []string{"v", "w", `q"`} {
			if rapid.Bool().Draw(t, "has "+name) {
				all = append(all, section(name, "data"))
			}
		}
		return all
	}
	var blocks []string
	if s := sections(); rapid.Bool().Draw(t, label+" state") && len(s) > 0 {
		blocks = append(blocks, "<agent-state>"+strings.Join(s, "\n")+stateEnd)
	}
	for _, name := range []string{"ticket", "agent-state", "notes"} {
		for _, key := range []string{"", "T-1", `it's "<`} {
			tag := `<feature-context name="` + name + `" feature="f"`
			if key != "" {
				tag += ` entity="` + html.EscapeString(key) + `"`
			}
			switch rapid.IntRange(0, 3).Draw(t, "is there") {
			case 1:
				blocks = append(blocks, tag+` attached="no" reason="budget" knob="chars">`+html.EscapeString(hostile.Draw(t, "why"))+contextEnd)
			case 2, 3:
				link := rapid.SampledFrom([]string{"run", "chat"}).Draw(t, "link")
				all := append([]string{tag + ` link="` + link + `">`, section(instructions, "control")}, sections()...)
				blocks = append(blocks, strings.Join(append(all, contextEnd), "\n"))
			}
		}
	}
	if rapid.Bool().Draw(t, label+" notes") {
		blocks = append(blocks, fmt.Sprintf("and %d more", rapid.IntRange(1, 3).Draw(t, "more")))
	}
	return strings.Join(blocks, "\n")
}

// Whatever comes and goes, an agent that carries out what it is told has what the tail
// of the turn holds; one that has forgotten all, or of which nobody knows what it has,
// is told all.
//
// row F7
func TestReplayHasWhatTheTailHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		agent, state, whole := memory{}, State{}, false
		for n := range rapid.IntRange(1, 8).Draw(t, "turns") {
			tail := tails(t, fmt.Sprint(n))
			switch rapid.IntRange(0, 5).Draw(t, "fate") {
			case 0: // compacted, or another session
				agent, state = memory{}, State{}
			case 1: // the turn before broke off after some of its operations
				lost := tails(t, "lost")
				ops, _ := Next(state, []byte(lost), whole)
				agent.carryOut(ops[:rapid.IntRange(0, len(ops)).Draw(t, "reached it")])
				state, whole = state.With([]byte(lost)), true
			}
			var ops []Op
			ops, state = Next(state, []byte(tail), whole)
			whole = false
			agent.carryOut(ops)
			if diff := cmp.Diff(has(tail), agent); diff != "" {
				t.Fatalf("turn %d: what the agent has is not what the tail holds (-want +got):\n%s\noperations: %v", n, diff, ops)
			}
			if again, _ := Next(state, []byte(tail), false); len(again) > 0 {
				t.Fatalf("turn %d: told twice: %v", n, again)
			}
		}
	})
}

// The tails that contexts' own tests expect are taken apart without a loss: told to an
// agent that has nothing they are the same bytes.
func TestTailsOfContexts(t *testing.T) {
	paths, err := filepath.Glob("../../../contexts/testdata/turns/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatal(paths, err)
	}
	blocks := 0
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all, _, _ := bytes.Cut(a.Files[len(a.Files)-1].Data, []byte("\nContexts: ")) // what follows is of the manifest
		_, tail, ok := bytes.Cut(append([]byte("\n"), all...), []byte("\n<"))
		if !ok {
			continue
		}
		want := "<" + string(tail)
		var told []string
		ops, _ := Next(State{}, []byte(want), false)
		for _, o := range ops {
			told = append(told, o.Text)
			if strings.HasPrefix(o.Text, "<feature-context") && o.Name == "" {
				t.Errorf("%s: %+v", path, o)
			}
		}
		if blocks += len(ops); strings.Join(told, "\n") != want {
			t.Errorf("%s (-tail +told):\n%s", path, cmp.Diff(want, strings.Join(told, "\n")))
		}
	}
	if blocks < 20 {
		t.Errorf("only %d blocks", blocks)
	}
}

// Any text is taken apart without a panic, and nothing of it is lost: what is told
// anew holds it all.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{"", "and 1 more", "<agent-state></agent-state>", "<feature-context >", `<feature-context name="a"></section></feature-context>x`, "</feature-context><feature-context "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		ops, _ := Next(State{}, []byte(tail), false)
		told := 0
		for _, o := range ops {
			told += len(o.Text)
		}
		if breaks := strings.Count(tail, "\n"); told < len(tail)-breaks {
			t.Errorf("%d of %d bytes are told of %q", told, len(tail), tail)
		}
	})
}
