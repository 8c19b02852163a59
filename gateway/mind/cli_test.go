package mind

import (
	"errors"
	"testing"

	"attache"
	"attache/contexts"
	"attache/gateway"
)

// An agent works in the folder of what its place is held to, and nowhere while nobody
// knows what that is.
// row D14
func TestAgentWorksInTheFolderOfItsKey(t *testing.T) {
	b, _ := brainOf(t, "")
	at := attache.Place{Bot: "nova", Chat: -1001}
	th := &thought{
		m: &Mind{o: Options{Folder: func(p attache.Place, pin attache.Pin) (string, bool) {
			return p.String() + " " + pin.String(), !pin.Unread
		}}},
		brain: b, turn: gateway.Turn{Place: at},
		asked: contexts.Turn{Bot: "nova", Bindings: []attache.Binding{{Context: "client", Key: "acme", Static: true}}},
	}
	if s, err := th.spec(told{}); err != nil || s.Dir != `nova/-1001/0 client="acme"` {
		t.Errorf("it works in %q, %v", s.Dir, err)
	}
	th.asked.Unread = true
	var e *attache.Error
	if s, err := th.spec(told{}); !errors.As(err, &e) || e.Kind != attache.KindOutside {
		t.Errorf("it works in %q, %v", s.Dir, err)
	}
}
