package richtext

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Whatever somebody calls themselves is read back as it was written, unmarked.
func TestLiteralTruths(t *testing.T) {
	signs := rapid.StringOfN(rapid.SampledFrom([]rune("\\`*_[]()<>|~&#$!:/;=-+\"'{} ab1é👍")), 0, 30, -1)
	rapid.Check(t, func(t *rapid.T) {
		want := strings.Join(strings.Fields("x "+signs.Draw(t, "name")+" y"), " ")
		doc := parse(normalise(Literal(want)))
		if doc.costly || doc.structured || doc.text.text != want || len(doc.text.spans) > 0 {
			t.Fatalf("%q is read as %q with %v", want, doc.text.text, doc.text.spans)
		}
	})
}
