package entity

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"attache"
	"attache/internal/brainfile"
)

// What is read is what it says of itself, with what may be left out.
func TestOn(t *testing.T) {
	for text, want := range map[string]On{
		"message":          {Event: "message"},
		"member.left":      {Event: "member.left"},
		"button":           {Event: "button"},
		"button:order:7":   {Event: "button", Arg: "order:7"},
		"webhook:stripe-2": {Event: "webhook", Arg: "stripe-2"},
		"row:tickets":      {Event: "row", Arg: "tickets", Op: "insert"},
		"row:_t1:delete":   {Event: "row", Arg: "_t1", Op: "delete"},
		"command:/triage":  {Event: "command", Arg: "triage"},
	} {
		got, what, do := parseOn(text, true)
		if got != want || what != "" {
			t.Errorf("%s gives %+v, %s; %s", text, got, what, do)
		}
		if again, _, _ := parseOn(got.String(), true); again != got {
			t.Errorf("%s is written %s", text, got)
		}
	}
}

// Whatever stands there, it is one that can be written again, or a mistake with its
// advice; and a hook is woken by no command.
func TestEveryOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"message", "button", "row", "webhook", "command", "mesage", "/x", "", "a b", "insert", "delete", "Ä", ":", "/"})
		text := strings.Join(rapid.SliceOfN(word, 1, 4).Draw(t, "words"), ":")
		on, what, do := parseOn(text, true)
		switch again, _, _ := parseOn(on.String(), true); {
		case what == "" && again != on:
			t.Fatalf("%q is %+v, which is written %q", text, on, on)
		case what != "" && (do == "" || on != On{}):
			t.Fatalf("%q: %+v, %s; %q", text, on, what, do)
		}
		if on, what, _ := parseOn(text, false); on.Event == "command" || strings.HasPrefix(text, "command:") && what == "" {
			t.Fatalf("a hook is woken by %q", text)
		}
	})
}

// A key that was mistyped is not missing too.
func TestMissing(t *testing.T) {
	for text, want := range map[string]bool{"a: 1": true, "agent: x": false, "agnet: x": false, "": true, "[agent]": false} {
		front, _ := brainfile.New("f", []byte("---\n"+text+"\n---\n")).Frontmatter()
		var h struct {
			Agent brainfile.Word `yaml:"agent"`
		}
		if got := Open(front.Head, &h).Missing("agent"); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A place without a bot is the one bot's; with two it must say.
func TestWhole(t *testing.T) {
	two := Frame{Bots: []attache.BotID{"nova", "vega"}}
	one := Frame{Bots: two.Bots[:1]}
	at := attache.Place{Chat: -1}
	if one.Whole(at).Bot != "nova" || two.Whole(at).Bot != "" || one.Whole(attache.Place{}).Bot != "" {
		t.Error(one.Whole(at), two.Whole(at), one.Whole(attache.Place{}))
	}
}
