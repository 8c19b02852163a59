package explain

import (
	"testing"

	"attache"
)

// Whatever is typed, a mark is a piece of it that begins as its kind does.
func FuzzMarksOf(f *testing.F) {
	for _, seed := range []string{"", "/help", "/help@nova_bot x", "hi @nova, ann@x.org", "😀 @nova_bot", "/", "@@nova", "é@nova @nova"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range marksOf(text) {
			piece, ok := attache.UTF16Slice(text, m.Offset, m.Length)
			if !ok || piece == "" || m.Kind == "mention" && piece[0] != '@' || m.Kind == "bot_command" && (piece[0] != '/' || m.Offset != 0) {
				t.Fatalf("%q: %+v is %q", text, m, piece)
			}
		}
	})
}
