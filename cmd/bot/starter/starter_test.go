package starter

import "testing"

// The commands that are printed can be copied.
func TestShellWord(t *testing.T) {
	for in, want := range map[string]string{"brain": "brain", "my brain": "'my brain'", "it's": `'it'\''s'`, "./a_b-c/1": "./a_b-c/1", "$HOME": "'$HOME'"} {
		if got := shellWord(in); got != want {
			t.Errorf("%q is written %s, want %s", in, got, want)
		}
	}
}
