package builtin

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"attache"

	"pgregory.net/rapid"
)

func held(keys ...string) attache.Pin {
	pin := attache.Pin{Bound: map[attache.ContextID]attache.EntityKey{}}
	for i := 0; i < len(keys); i += 2 {
		pin.Bound[attache.ContextID(keys[i])] = attache.EntityKey(keys[i+1])
	}
	return pin
}

// The names stand on disks from one version to the next.
func TestFolderOfAPlace(t *testing.T) {
	at := attache.Place{Bot: "nova", Chat: -1001, Thread: 42}
	for _, c := range []struct {
		pin  attache.Pin
		want string
	}{
		{attache.Pin{}, "nova/-1001/42"},
		{held(), "nova/-1001/42"},
		{held("client", "acme"), "nova/-1001/42.acme-2275db8aa6149876"},
		{held("client", "../../../etc"), "nova/-1001/42.bb8aee50ebdf5172"},
		{held("client", "ACME / Söhne"), "nova/-1001/42.096d5e3fe6b98ec8"},
		{held("client", ""), "nova/-1001/42.761c451a1b9092ba"},
		{held("client", "acme", "ticket", "T-1"), "nova/-1001/42.c08d0d15ca048e51"},
		{attache.Pin{Unread: true}, ""},
		{attache.Pin{Unread: true, Bound: held("client", "acme").Bound}, ""},
	} {
		if got := Folder(at, c.pin); got != c.want {
			t.Errorf("%v: %q, want %q", c.pin, got, c.want)
		}
	}
}

// Two pins have two folders, side by side, whatever the keys are.
func TestNoFolderIsInAnother(t *testing.T) {
	at := attache.Place{Bot: "nova", Chat: -1001, Thread: 4}
	pins := rapid.Custom(func(t *rapid.T) attache.Pin {
		key := rapid.OneOf(rapid.SampledFrom([]string{"", "acme", "ACME", "acme-", "..", "/", "a/b", ".", "2", "acme\" ticket=\"T"}), rapid.StringN(1, 200, -1))
		return attache.Pin{Bound: rapid.MapOfN(rapid.SampledFrom([]attache.ContextID{"client", "ticket"}), rapid.Map(key, func(s string) attache.EntityKey { return attache.EntityKey(s) }), 0, 2).Draw(t, "bound")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := pins.Draw(t, "a"), pins.Draw(t, "b")
		one, other := Folder(at, a), Folder(at, b)
		if (one == other) != (a.String() == b.String()) {
			t.Fatalf("%v has %q, %v has %q", a, one, b, other)
		}
		if path.Dir(one) != "nova/-1001" || !filepath.IsLocal(one) || path.Clean(one) != one || len(path.Base(one)) > 100 {
			t.Fatalf("%v has %q", a, one)
		}
	})
}

// A file is sent from the folder of the key that the turn began under, and from no
// other one's.
// row D14
func TestFilesOfAnotherKey(t *testing.T) {
	w := withFolders(t)
	at := attache.Place{Bot: "nova", Chat: -1001, Thread: 42}
	for _, key := range []string{"acme", "globex"} {
		dir := filepath.Join(w.files, Folder(at, held("client", key)))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "notes"), []byte("of "+key), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const missing = `there is no file "notes"; write assets/… of the brain, or a path below this place's own folder`
	const unread = "what this place is bound to could not be read, so neither is its folder; send assets/… of the brain, or try again in a later turn"
	for _, c := range []struct {
		pin             attache.Pin
		path, data, why string
	}{
		{held("client", "acme"), "notes", "of acme", ""},
		{held("client", "globex"), "notes", "of globex", ""},
		{held("client", "initech"), "notes", "", missing},
		{held("client", ""), "notes", "", missing},
		{attache.Pin{}, "notes", "", missing},
		{held("client", "acme"), "report.txt", "", strings.Replace(missing, "notes", "report.txt", 1)},
		{attache.Pin{}, "report.txt", "the report", ""},
		{attache.Pin{Unread: true}, "notes", "", unread},
		{attache.Pin{Unread: true, Bound: held("client", "acme").Bound}, "notes", "", unread},
		{attache.Pin{Unread: true}, "assets/logo.txt", "the logo", ""},
	} {
		data, why := w.deps().open(attache.Call{Place: at, Pin: c.pin}, c.path)
		if string(data) != c.data || why != c.why {
			t.Errorf("%s under %v: %q, %q", c.path, c.pin, data, why)
		}
	}
}
