package main

import (
	"bytes"
	"strings"
	"testing"
)

// The adapter is no command for people, says what it knows, and answers a start.
func TestAdapter(t *testing.T) {
	for _, c := range []struct {
		args, in string
		code     int
		out      string
	}{
		{"agent-adapter codex", "", 2, `there is no adapter for "codex"; the only one is claude`},
		{"agent-adapter claude -- --model opus", `{"type":"start","session":"5b6c0000-0000-4000-8000-000000000001","system":"You help."}` + "\n" + `{"type":"stop"}` + "\n", 0,
			`{"type":"session","id":"5b6c0000-0000-4000-8000-000000000001"}`},
		{"agent-adapter claude --program /nowhere/claude", `{"type":"start","session":null,"system":""}` + "\n" + `{"type":"turn","id":"1","input":"hello"}` + "\n", 0,
			"/nowhere/claude cannot be started"},
	} {
		var out bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), stdio{strings.NewReader(c.in), &out, &out})
		if code != c.code || !strings.Contains(out.String(), c.out) {
			t.Errorf("attache %s: exit %d\n%s", c.args, code, &out)
		}
	}
	var help bytes.Buffer
	run(t.Context(), []string{"--help"}, stdio{strings.NewReader(""), &help, &help})
	if strings.Contains(help.String(), "agent-adapter") {
		t.Error("it is shown to people")
	}
}
