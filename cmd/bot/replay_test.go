package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache/cmd/bot/records"
	"attache/internal/model/modeltest"
)

// What was sent can be read again byte for byte, and what is not kept any more, or was
// never the same, is told and ends with 1.
//
// row N7
func TestReplayComparesBytes(t *testing.T) {
	s := newStage(t)
	dir := agencyBrain(t)
	m := s.startMind(dir,
		modeltest.Rule{Tool: "context_open", Answer: modeltest.Text("With the receipt.")},
		modeltest.Rule{Text: "return", Answer: modeltest.Use("context_open", `{"name":"returns"}`)},
		modeltest.Rule{Answer: modeltest.Text("ok")})
	dm := s.sim.DM(s.ann, s.bot)
	for i, say := range []string{"hello <&>", "how do I return it"} {
		dm.Say(s.ann, say)
		s.await(dm, i+1)
	}
	conn := connect(t, s.dsn)
	replay := func(args ...string) (code int, out, errs string) {
		return attacheCommand(append([]string{"replay", "--brain", dir, "--database-url", s.dsn}, args...)...)
	}

	out := filepath.Join(t.TempDir(), "requests")
	code, text, errs := replay("2", "--json", "--out", out)
	var r records.Replay
	if err := json.Unmarshal([]byte(text), &r); err != nil || code != 0 || !r.Same || len(r.Requests) != 2 || len(r.Missing) != 0 {
		t.Fatalf("the replay ends with %d, %v: %s%s", code, err, text, errs)
	}
	for i, name := range []string{"turn-2-request-1-default.json", "turn-2-request-2-default.json"} {
		body, err := os.ReadFile(filepath.Join(out, name))
		sum := sha256.Sum256(body)
		if sent := m.Requests()[i+1].Raw; err != nil || string(body) != string(sent) || hex.EncodeToString(sum[:]) != r.Requests[i].Sent.SHA256 {
			t.Errorf("%s is not what was sent: %v\n%s\n%s", name, err, body, sent)
		}
	}

	for _, c := range []struct{ sql, say string }{
		{`update attache.model_calls set sha256 = repeat('0', 64) where turn = 2 and n = 2`, "differs: rebuilt it has"},
		{`delete from attache.turn_journal where turn = 2 and n = 1`, "what came before request 2 was not written down"},
		{`update attache.exchanges set dropped = true where turn = 1`, "1 of the 1 earlier turns that it was sent are deleted by now"},
		{`update attache.model_calls set profile = 'other' where turn = 2`, "how the model other is written to was not written down"},
		{`delete from attache.turn_journal where turn = 2`, "is not kept any more (retention.turns)"},
		{`update attache.model_calls set profile = 'cli' where turn = 2`, "was answered by an agent that keeps its own state"},
	} {
		if _, err := conn.Exec(t.Context(), c.sql); err != nil {
			t.Fatal(err)
		}
		if code, out, errs := replay("2"); code != 1 || !strings.Contains(out+errs, c.say) {
			t.Errorf("after %s it ends with %d and says %s%s, want %q", c.sql, code, out, errs, c.say)
		}
	}
	if code, out, errs := replay("1"); code != 0 {
		t.Errorf("the other turn's replay ends with %d: %s%s", code, out, errs)
	}
}
