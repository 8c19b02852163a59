package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAssemble(t *testing.T) {
	r := Request{
		Epoch:   Epoch{Text: "static"},
		Session: []byte("session"),
		History: []Past{
			{Snapshot: []byte("snap 1"), Input: []byte("in 1"), Answer: "out 1"},
			{Answer: "good morning", Mark: "heartbeat:daily"},
			{Snapshot: []byte("snap 2"), Input: []byte("in 2")},
		},
		Snapshot: []byte("snap 3"), Input: []byte("in 3"), Tail: []byte("tail"),
		StaticRole: "developer",
	}
	want := []Message{
		{"developer", "static"}, {"system", "session"},
		{"system", "snap 1"}, {"user", "in 1"}, {"assistant", "out 1"},
		{"assistant", "[heartbeat:daily]\ngood morning"},
		{"system", "snap 2"}, {"user", "in 2"},
		{"system", "snap 3"}, {"user", "in 3"}, {"system", "tail"},
	}
	got, cut := Assemble(r)
	if diff := cmp.Diff(want, got); diff != "" || cut != 0 {
		t.Errorf("cut %d, -want +got:\n%s", cut, diff)
	}
	got, _ = Assemble(Request{Epoch: Epoch{Text: "s"}, Session: []byte("c"), Input: []byte("in"), ContextRole: "user"})
	if diff := cmp.Diff([]Message{{"system", "s"}, {"user", "c"}, {"user", "in"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func past(t *rapid.T, i int) Past {
	if rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
		return Past{Answer: rapid.String().Draw(t, "post"), Mark: "hook:x"}
	}
	return Past{
		Snapshot: fmt.Appendf(nil, "<turn_context v=\"1\">%d</turn_context>", i),
		Input:    []byte(rapid.String().Draw(t, "input")),
		Answer:   rapid.String().Draw(t, "answer"),
	}
}

// Two consecutive turns share every byte up to the end of the earlier one's
// input; a cut of the history is the only exception, and is rare. Earlier
// snapshots are replayed as they were, each before its input (the half of row J7
// that needs no database).
func TestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Request{
			Epoch:       Epoch{Text: rapid.String().Draw(t, "static")},
			Session:     []byte("<session_context v=\"1\"/>"),
			StaticRole:  rapid.SampledFrom([]string{"", "developer"}).Draw(t, "role"),
			ContextRole: rapid.SampledFrom([]string{"", "user"}).Draw(t, "context role"),
			Budget:      rapid.SampledFrom([]int{0, 50, 200}).Draw(t, "budget"),
			Count:       func(s string) int { return len([]rune(s)) },
		}
		var before []byte
		var lastCut int
		for i := range rapid.IntRange(1, 30).Draw(t, "turns") {
			turn := past(t, i)
			r.Snapshot, r.Input, r.Tail = turn.Snapshot, turn.Input, []byte(rapid.String().Draw(t, "tail"))
			messages, cut := Assemble(r)
			now := wire(t, messages)
			if cut == lastCut && !strings.HasPrefix(string(now), string(before)) {
				t.Fatalf("turn %d changed what turn %d sent:\n%s\n%s", i, i-1, before, now)
			}
			if cut < lastCut {
				t.Fatalf("a dropped turn came back: %d, then %d", lastCut, cut)
			}
			r.Tail = nil // what the next turn must repeat ends with the input
			upToInput, _ := Assemble(r)
			before, lastCut = wire(t, upToInput), cut
			r.History = append(slices.Clip(r.History), turn)
		}
	})
}

// wire is the JSON of messages without the closing bracket, so that a longer list
// with the same front begins with it.
func wire(t *rapid.T, messages []Message) []byte {
	b, err := json.Marshal(messages)
	if err != nil {
		t.Fatal(err)
	}
	return b[:len(b)-1]
}

// A cut keeps the budget, stays for long, and comes out the same from what an
// earlier cut left.
func TestHistoryIsCutRarely(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const budget = 1000
		tokens := rapid.SliceOfN(rapid.IntRange(1, 60), 0, 300).Draw(t, "tokens")
		var whole, window []Past
		from, since := 0, 0
		for i, n := range tokens {
			whole = append(whole, Past{Answer: "x", Tokens: n})
			window = append(window, Past{Answer: "x", Tokens: n})
			_, cut := Assemble(Request{History: whole, Budget: budget})
			_, fromWindow := Assemble(Request{History: window, Budget: budget})
			window = window[fromWindow:]
			if cut != len(whole)-len(window) {
				t.Fatalf("turn %d: %d dropped of the whole, %d step by step", i, cut, len(whole)-len(window))
			}
			sum := 0
			for _, p := range window {
				sum += p.Tokens
			}
			since += n
			if sum > budget || (cut > from && from > 0 && since < budget*4/10) {
				t.Fatalf("turn %d: %d tokens kept, %d since the last cut", i, sum, since)
			}
			if cut > from {
				from, since = cut, 0
			}
		}
	})
}

func TestOneTurnOverTheBudget(t *testing.T) {
	history := func(tokens ...int) []Past {
		var h []Past
		for _, n := range tokens {
			h = append(h, Past{Answer: "x", Tokens: n})
		}
		return h
	}
	for _, c := range []struct {
		tokens []int
		cut    int
	}{
		{[]int{10, 10, 90}, 2},  // fits by itself, though above 60 %
		{[]int{10, 10, 101}, 3}, // does not fit
		{[]int{60, 40}, 0},
		{[]int{60, 41}, 1},
		{nil, 0},
	} {
		if _, cut := Assemble(Request{History: history(c.tokens...), Budget: 100}); cut != c.cut {
			t.Errorf("%v: %d dropped, want %d", c.tokens, cut, c.cut)
		}
	}
}
