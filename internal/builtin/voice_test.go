package builtin

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"attache"
	"attache/internal/model/modeltest"

	"github.com/google/go-cmp/cmp"
)

func TestVoice(t *testing.T) {
	sound := modeltest.Speech("hum")
	w := withFolders(t)
	w.sound = sound
	if err := os.WriteFile(filepath.Join(w.brain, "assets", "hello.OGG"), sound, 0o644); err != nil {
		t.Fatal(err)
	}
	w.call(t, "voice_send", `{"text":" Good morning. ","about":{"context":"client"},"buttons":[[{"text":"Thanks"}]]}`)
	w.call(t, "voice_send", `{"path":"assets/hello.OGG"}`)
	place := attache.Place{Bot: "nova", Chat: -1001, Thread: 42}
	want := []PostRequest{
		{Turn: 7, Call: "call_9", Say: attache.Outgoing{Place: place, Buttons: [][]attache.Button{{{Text: "Thanks", Data: "Thanks"}}},
			File: &attache.Upload{Kind: "voice", Name: "voice.ogg", MIME: "audio/ogg", Says: "[voice] Good morning.", Data: sound}}},
		{Turn: 7, Call: "call_9", Say: attache.Outgoing{Place: place,
			File: &attache.Upload{Kind: "voice", Name: "voice.ogg", MIME: "audio/ogg", Says: "[voice hello.OGG]", Data: sound}}},
	}
	if diff := cmp.Diff(want, w.asked); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(w.said, []string{"Good morning."}) || w.about[0] != (attache.About{Context: "client"}) {
		t.Errorf("said aloud %q, about %v", w.said, w.about)
	}
}

// What is not sent costs nothing, if it can be known before.
func TestVoicesThatAreNotSent(t *testing.T) {
	const nothing = "nothing was sent: "
	for _, c := range []struct {
		args   string
		change func(*world)
		said   int
		want   string
	}{
		{args: `{}`, want: "a voice message says a text or is a recording at path; give exactly one of them"},
		{args: `{"text":"a","path":"b.ogg"}`, want: "a voice message says a text or is a recording at path; give exactly one of them"},
		{args: `{"text":" "}`, want: "a voice message says a text or is a recording at path; give exactly one of them"},
		{args: `{"text":"` + strings.Repeat("ä", 4097) + `"}`, want: "the text has 4097 characters and at most 4096 are said in one voice message; say less"},
		{args: `{"path":"report.txt"}`, want: `"report.txt" is no Opus in Ogg, which is what a voice message is; send it with file_send`},
		{args: `{"path":"../x.ogg"}`, want: `the path "../x.ogg" leads out of the folders whose files can be sent; write assets/… of the brain, or a path below this place's own folder`},
		{args: `{"text":"a"}`, change: func(w *world) { w.refused = "name the film" }, want: "name the film"},
		{args: `{"text":"a"}`, change: func(w *world) {
			w.mute = &attache.Error{Kind: attache.KindRefused, Say: "this brain has no model that speaks"}
		}, said: 1, want: "this brain has no model that speaks"},
		{args: `{"text":"a"}`, change: func(w *world) { w.mute = errors.New("dial tcp") }, said: 1, want: "the text could not be said aloud; try again in a later turn"},
		{args: `{"text":"a"}`, change: func(w *world) { w.sound = []byte("ID3 an mp3") }, said: 1,
			want: "the model that speaks answered with something that is no Opus in Ogg, which is what a voice message is; a person must choose another `speech:` in MANIFEST.yaml"},
		{args: `{"text":"a"}`, change: func(w *world) { w.sound = []byte("OggS and Vorbis") }, said: 1,
			want: "the model that speaks answered with something that is no Opus in Ogg, which is what a voice message is; a person must choose another `speech:` in MANIFEST.yaml"},
	} {
		w := withFolders(t)
		if c.change != nil {
			c.change(w)
		}
		if got := failure(t, w.call(t, "voice_send", c.args)); got != nothing+c.want || len(w.asked) != 0 || len(w.said) != c.said {
			t.Errorf("%.90s: %d posts, said aloud %q\n got %s\nwant %s", c.args, len(w.asked), w.said, got, nothing+c.want)
		}
	}
}
