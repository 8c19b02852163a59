package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A mistake in a walk is named with its file and line.
func TestMistakesInWalks(t *testing.T) {
	const head = "It shows something.\n\n-- walk --\n"
	const tail = "-- posts --\n"
	for _, c := range []struct{ text, want string }{
		{"-- walk --\n-- posts --\n", "x.txtar:1: a walk begins with a sentence that says what it shows"},
		{"Words.\n-- posts --\n", "x.txtar:1: a walk has a script; write it under -- walk --"},
		{head, "x.txtar:1: a walk expects something; end it with -- posts -- and run with -update"},
		{head + "-- pots --\n", "x.txtar:4: pots is neither a file of the brain nor a section; sections are walk, posts, drafts, turns, judged, kept, requests, agent, prompt, output, log"},
		{head + "ann in family: hi\n  and more\n\nann goes home\n" + tail, `x.txtar:7: "ann goes home" is no line of a walk; README.md beside the walks lists them`},
		{head + "  ann in family: hi\n" + tail, "x.txtar:4: an indented line goes on with the line before it, and there is none"},
		{head + "ann in family\n" + tail, "x.txtar:4: nothing is said; write the words behind a colon"},
		{head + "ann in family, loudly: hi\n" + tail, `x.txtar:4: "loudly" is no option of what is said; README.md lists them`},
		{head + "ann edits q\n" + tail, "x.txtar:4: the new words is missing; write `ann edits q: new words`"},
		{head + "ann deletes q: now\n" + tail, "x.txtar:4: nothing stands behind a colon here; write `ann deletes q`"},
		{head + "telegram breaks sendMessage: rain\n" + tail, `x.txtar:4: "rain" is no fault; they are flood SECONDS, refusal TEXT, error, page, conflict, unknown, cut before, cut after, half`},
		{head + "telegram breaks sendMessage, twice: error\n" + tail, `x.txtar:4: "twice" is no option of a fault; they are 2 times, always, after 3, with rich_message`},
		{head + "model says, slowly: hi\n" + tail, `x.txtar:4: "slowly" is no option of an answer; they are always, after TOOL, held by GATE, stepped by GATE`},
		{head + "model fails: cut two\n" + tail, `x.txtar:4: "cut two" is no fault; they are html, busy SECONDS, status CODE MESSAGE, and cut, end, stall, object, string, event, bad WORDS TEXT`},
		{head + "start, laughing\n" + tail, `x.txtar:4: "laughing" is no option of a start; the only one is dying at POINT`},
		{head + "kill, softly\n" + tail, "x.txtar:4: no options stand here; write `kill`"},
	} {
		_, err := parseWalk("x.txtar", c.text)
		if err == nil || err.Error() != c.want {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

// A name that nobody has is a mistake too, found when its line is performed.
func TestMistakesInPerformedWalks(t *testing.T) {
	t.Setenv(tokenVariable("nova"), token("nova"))
	for _, c := range []struct{ line, want string }{
		{"dora to nova: hi", "nobody is called dora"},
		{"ann in family: hi", "there is no chat family"},
		{"ann to nova, replying to q: hi", "q is neither the name of a message nor of somebody"},
		{"release gate", "no answer is held by gate"},
	} {
		w, err := parseWalk("x.txtar", "It shows something.\n-- walk --\nstop\n"+c.line+"\n-- posts --\n")
		if err != nil {
			t.Fatal(err)
		}
		w.lines = w.lines[1:] // the program is not needed for this
		w.manual = true
		want := "x.txtar:4: " + c.line + ": " + c.want
		if err := newPlay(t, w).perform(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Every form reads the shape that it shows in errors, and README.md shows it or one
// like it.
func TestFormsReadTheirShapes(t *testing.T) {
	for _, f := range forms() {
		w := &walk{path: "x"}
		if err := w.script(f.shape, 0); err != nil {
			t.Errorf("%s: %v", f.shape, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(walks, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sectionNames() {
		if !strings.Contains(string(text), "| `"+name+"` |") {
			t.Errorf("README.md does not tell of the section %s", name)
		}
	}
}

// Any text is a script or has a mistake with a place; none panics. Marks read back.
func FuzzWalk(f *testing.F) {
	paths, err := filepath.Glob(walks + "/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		w, err := readWalk(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(w.find("walk").Data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		w := &walk{path: "x"}
		if err := w.script(text, 0); err != nil && !strings.HasPrefix(err.Error(), "x:") {
			t.Errorf("a mistake without a place: %v", err)
		}
		plain, marks := readMarks(text)
		if again, _ := readMarks(writeMarks(plain, marks)); again != strings.ToValidUTF8(plain, "\uFFFD") && utf8.ValidString(text) {
			t.Errorf("%q is read as %q and back as %q", text, plain, again)
		}
	})
}
