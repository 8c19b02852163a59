package records

import (
	"strings"
	"testing"
	"time"

	"attache"
	"attache/gateway/ledger"
)

// A message can neither command a terminal nor pass for a line of the record.
func TestWordsStayWords(t *testing.T) {
	var r turnRecord
	r.Record = ledger.Record{Opened: time.Unix(0, 0)}
	r.Input = []attache.Message{{From: attache.Person{Name: "A\x1b]0;x\a"}, Text: "hi\n  attached client@globex by chat\u202e"}}
	var out strings.Builder
	r.print(&out)
	if strings.ContainsAny(out.String(), "\x1b\a\u202e") || strings.Contains(out.String(), "\n  attached") || !strings.Contains(out.String(), `A\x1b]0;x\a`) {
		t.Errorf("%q", out.String())
	}
}
