package paths

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIgnored(t *testing.T) {
	for _, c := range []struct {
		rule, at string
		hit      bool
	}{
		{"archive/", "archive/a.md", true},
		{"archive", "old/Archive/a.md", true},
		{"archive", "archived/a.md", false},
		{"./old/sub/", "old/sub/a.csv", true},
		{"old/sub", "old/a/sub/b.md", false},
		{"old/a", "old/a.md", true}, // as its id
		{"old/a", "old/a.csv", false},
		{"/", "a.md", false},
		{" ", "a.md", false},
	} {
		if got := Ignored([]string{c.rule}, c.at); (got == c.rule) != c.hit || !c.hit && got != "" {
			t.Errorf("%q on %q gives %q, want a hit: %t", c.rule, c.at, got, c.hit)
		}
	}
}

func TestWhatLeavesTheFolder(t *testing.T) {
	for ref, want := range map[string]bool{"/etc/passwd": true, `\\host\x`: true, "C:/x": true, "c:x": true, "a:b": true, "ab:c": false, "4:x": false, "": false, "./a": false} {
		if got := Absolute(ref); got != want {
			t.Errorf("%q is absolute: %t, want %t", ref, got, want)
		}
	}
	for ref, want := range map[string]bool{"..": true, "../a": true, "..a": false, "a/../../b": true, "a/../b": false} {
		if got := Climbs(path.Clean(ref)); got != want {
			t.Errorf("%q climbs: %t, want %t", ref, got, want)
		}
	}
}

// Whatever the path, every run of its segments is a rule that hits it, and it ends in
// every tail of itself.
func TestRunsOfAPathHitIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z][a-zé_-]{0,5}(\.md|\.csv)?`), 1, 6).Draw(t, "parts")
		at := strings.Join(parts, "/")
		from := rapid.IntRange(0, len(parts)-1).Draw(t, "from")
		to := rapid.IntRange(from+1, len(parts)).Draw(t, "to")
		if rule := strings.Join(parts[from:to], "/"); Ignored([]string{"never/there", rule}, at) != rule {
			t.Fatalf("%q does not hit %q", rule, at)
		}
		if !EndIn(Segments(at), Segments(strings.Join(parts[from:], "/"))) {
			t.Fatalf("%q does not end in its tail from %d", at, from)
		}
	})
}
