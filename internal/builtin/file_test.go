package builtin

import (
	"bytes"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"attache"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// withFolders gives a world with a brain, the folder of the turn's place, and a
// secret outside of both.
func withFolders(t testing.TB) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{files: filepath.Join(base, "data", "files"), brain: filepath.Join(base, "brain")}
	place := filepath.Join(w.files, "nova", "-1001", "42")
	for name, text := range map[string]string{
		filepath.Join(place, "report.txt"):                     "the report",
		filepath.Join(place, "deep", "er", "a.csv"):            "a,b",
		filepath.Join(place, "empty.txt"):                      "",
		filepath.Join(w.files, "nova", "-1002", "0", "b.txt"):  "another place's",
		filepath.Join(w.brain, "assets", "logo.txt"):           "the logo",
		filepath.Join(w.brain, "constitution", "access.yaml"):  "the rules",
		filepath.Join(base, "secret.txt"):                      "the secret",
		filepath.Join(base, "data", "postgres", "pg_hba.conf"): "trust",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		filepath.Join(place, "inner"):                "report.txt",
		filepath.Join(place, "out"):                  filepath.Join(base, "secret.txt"),
		filepath.Join(place, "up"):                   "../../../../../secret.txt",
		filepath.Join(place, "hosts"):                "/etc/hosts",
		filepath.Join(place, "zero"):                 "/dev/zero",
		filepath.Join(place, "folder"):               "/etc",
		filepath.Join(w.brain, "assets", "rules"):    "../constitution/access.yaml",
		filepath.Join(w.files, "nova", "-1001", "0"): "../../../postgres",
	} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(place, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(place, "big.bin"))
	if err == nil {
		err = errors.Join(big.Truncate(largestFile+1), big.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// A file comes from the folder of the place, from the brain's assets or from the call
// itself, and goes out under a plain name.
func TestFilesThatAreSent(t *testing.T) {
	for args, want := range map[string]attache.Outgoing{
		`{"path":"report.txt"}`: {File: &attache.Upload{Kind: "document", Name: "report.txt", MIME: "text/plain; charset=utf-8", Says: "[document report.txt]", Data: []byte("the report")}},
		`{"path":"deep/./er/a.csv","name":" Ältere Zahlen.json ","caption":"**Here**"}`: {Markdown: "**Here**", File: &attache.Upload{Kind: "document", Name: "Ältere Zahlen.json", MIME: "application/json", Says: "[document Ältere Zahlen.json]", Data: []byte("a,b")}},
		`{"path":"inner","name":"a.unheard"}`:                                           {File: &attache.Upload{Kind: "document", Name: "a.unheard", MIME: "application/octet-stream", Says: "[document a.unheard]", Data: []byte("the report")}},
		`{"path":"assets/logo.txt"}`:                                                    {File: &attache.Upload{Kind: "document", Name: "logo.txt", MIME: "text/plain; charset=utf-8", Says: "[document logo.txt]", Data: []byte("the logo")}},
		`{"content":"a;b\n","name":"x.png"}`:                                            {File: &attache.Upload{Kind: "document", Name: "x.png", MIME: "image/png", Says: "[document x.png]", Data: []byte("a;b\n")}},
	} {
		w := withFolders(t)
		result := w.call(t, "file_send", args)
		want.Place = attache.Place{Bot: "nova", Chat: -1001, Thread: 42}
		if diff := cmp.Diff([]PostRequest{{Turn: 7, Call: "call_9", Say: want}}, w.asked); diff != "" {
			t.Errorf("%s: %s\n%s", args, result.Text, diff)
		}
	}
}

// Nothing else is sent: no file of another place, of the program, or of the machine.
func TestFilesThatAreNotSent(t *testing.T) {
	const nothing = "nothing was sent: "
	leads := func(path string) string {
		return nothing + `the path "` + path + `" leads out of the folders whose files can be sent; write assets/… of the brain, or a path below this place's own folder`
	}
	missing := func(path string) string {
		return nothing + `there is no file "` + path + `"; write assets/… of the brain, or a path below this place's own folder`
	}
	closed := func(path string) string {
		return nothing + `"` + path + `" cannot be read: it leads out of its folder, or the program may not read it`
	}
	for _, c := range []struct{ args, want string }{
		{`{"path":"../../-1002/0/b.txt"}`, leads("../../-1002/0/b.txt")},
		{`{"path":"deep/../../../-1002/0/b.txt"}`, leads("deep/../../../-1002/0/b.txt")},
		{`{"path":"/etc/hosts"}`, leads("/etc/hosts")},
		{`{"path":"assets/../../secret.txt"}`, leads("assets/../../secret.txt")},
		{`{"path":"assets/../constitution/access.yaml"}`, missing("constitution/access.yaml")},
		{`{"path":"assets/rules"}`, closed("assets/rules")},
		{`{"path":"assets/none.txt"}`, missing("assets/none.txt")},
		{`{"path":"none.txt"}`, missing("none.txt")},
		{`{"path":"report.txt\u0000.pdf","name":"a"}`, closed(`report.txt\x00.pdf`)},
		{`{"path":"out"}`, closed("out")},
		{`{"path":"up"}`, closed("up")},
		{`{"path":"hosts"}`, closed("hosts")},
		{`{"path":"zero"}`, closed("zero")},
		{`{"path":"folder/hosts"}`, closed("folder/hosts")},
		{`{"path":"pipe"}`, nothing + `"pipe" is a folder or a device and no file`},
		{`{"path":"deep"}`, nothing + `"deep" is a folder or a device and no file`},
		{`{"path":"big.bin"}`, nothing + `"big.bin" has 20 MB and at most 20 are sent`},
		{`{"path":"empty.txt"}`, nothing + `"empty.txt" is empty, and Telegram takes no empty files`},
		{`{}`, nothing + "a file is named by path or written as content; give exactly one of them"},
		{`{"path":"report.txt","content":"x"}`, nothing + "a file is named by path or written as content; give exactly one of them"},
		{`{"content":"x"}`, nothing + "the file has no name; give it a plain one with its ending, such as report.pdf"},
		{`{"content":"","name":"a.txt"}`, nothing + "the content is empty, and Telegram takes no empty files"},
		{`{"content":"x","name":".."}`, nothing + "the file has no name; give it a plain one with its ending, such as report.pdf"},
		{`{"content":"x","name":"a/b.txt"}`, nothing + `the name "a/b.txt" holds a folder; give a plain file name, such as report.pdf`},
		{`{"content":"x","name":"a\\b.txt"}`, nothing + `the name "a\\b.txt" holds a folder; give a plain file name, such as report.pdf`},
		{`{"content":"x","name":"a\r\nX: b"}`, nothing + `the name "a\r\nX: b" holds a character that does not show; give a plain file name, such as report.pdf`},
		{`{"content":"x","name":"pic\u202egnp.exe"}`, nothing + `the name "pic\u202egnp.exe" holds a character that does not show; give a plain file name, such as report.pdf`},
		{`{"content":"x","name":"` + strings.Repeat("ä", 101) + `"}`, nothing + "the name has 202 bytes and at most 200 are taken; give a shorter one"},
		{`{"content":"x","name":"a.txt","chat":-1003}`, nothing + "tg:chat:-1003 has no rule in access.yaml for the bot nova; only a person can add one, so choose another chat"},
	} {
		w := withFolders(t)
		if got := failure(t, w.call(t, "file_send", c.args)); got != c.want || len(w.asked) != 0 {
			t.Errorf("%.90s: %d posts\n got %s\nwant %s", c.args, len(w.asked), got, c.want)
		}
	}
	w := withFolders(t)
	w.bots = []attache.BotID{"nova"}
	got := failure(t, w.call(t, "file_send", `{"path":"report.txt","chat":-1001}`, func(c *attache.Call) { c.Place = attache.Place{} }))
	if want := nothing + "this run has no place and so no folder of its own; only assets/… of the brain can be sent"; got != want {
		t.Errorf("a run without a place reads %s", got)
	}
	got = failure(t, w.call(t, "file_send", `{"path":"pg_hba.conf"}`, func(c *attache.Call) { c.Place.Thread = 0 }))
	if want := closed("pg_hba.conf"); got != want {
		t.Errorf("a place whose folder is a link reads %s", got)
	}
}

// What is a picture by its name and its bytes is shown as one, if Telegram would.
func TestPictures(t *testing.T) {
	encoded := func(w, h int, asJPEG bool) []byte {
		var b bytes.Buffer
		m := image.NewGray(image.Rect(0, 0, w, h))
		err := png.Encode(&b, m)
		if asJPEG {
			b.Reset()
			err = jpeg.Encode(&b, m, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	small := encoded(4, 3, false)
	for name, c := range map[string]struct {
		f    attache.Upload
		want bool
	}{
		"a PNG":                {attache.Upload{Name: "a.png", Data: small}, true},
		"in capitals":          {attache.Upload{Name: "A.PNG", Data: small}, true},
		"a JPEG":               {attache.Upload{Name: "a.jpeg", Data: encoded(4, 3, true)}, true},
		"another ending":       {attache.Upload{Name: "a.bin", Data: small}, false},
		"another content":      {attache.Upload{Name: "a.jpg", Data: small}, false},
		"too long for a photo": {attache.Upload{Name: "a.png", Data: encoded(1, 21, false)}, false},
		"just not too long":    {attache.Upload{Name: "a.png", Data: encoded(1, 20, false)}, true},
		"too large a side":     {attache.Upload{Name: "a.png", Data: encoded(9000, 1001, false)}, false},
		"too many bytes":       {attache.Upload{Name: "a.png", Data: append(bytes.Clone(small), make([]byte, largestPhoto)...)}, false},
	} {
		if got := picture(&c.f); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Whatever path a model writes, what is sent stands in one of the two folders.
func TestNoPathLeadsOut(t *testing.T) {
	w := withFolders(t)
	inside := map[string]bool{"the report": true, "a,b": true, "the logo": true}
	rapid.Check(t, func(rt *rapid.T) {
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{"..", ".", "", "/", "assets", "deep", "er", "a.csv", "report.txt", "out", "up", "inner", "folder", "hosts", "logo.txt", "rules", "nova", "-1002", "secret.txt", "brain", "data"}), 1, 8).Draw(rt, "steps")
		data, why := w.deps().open(attache.Call{Place: attache.Place{Bot: "nova", Chat: -1001, Thread: 42}}, strings.Join(steps, "/"))
		if why == "" && !inside[string(data)] {
			rt.Fatalf("%q gives %q", steps, data)
		}
	})
}
