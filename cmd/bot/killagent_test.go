package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"attache/internal/cliagent/agenttest"
)

// An agent that hangs is gone with a program that is killed, so that its session and
// its folder never have two of them.
//
// row F7
func TestKilledProgramLeavesNoAgent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can be asked for that")
	}
	s := newStage(t)
	agent := t.TempDir()
	dir := brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml": "telegram: { pace: off }\n",
		"constitution/access.yaml":   "bots:\n  nova:\n    merge: 0s\n    dm: { role: helper, people: everyone }\n",
		"features/helping/helper.agent.md": "---\ndescription: Helps.\nengine: { cli: { command: [" +
			agenttest.Install(t, agent, agenttest.Step{Do: "writes", Text: "hangs now"}, agenttest.Step{Do: "hangs"}, agenttest.Step{Do: "says", Text: "Back."}) + "] } }\n---\n",
	})
	env := []string{"TELEGRAM_BOT_TOKEN_NOVA=" + s.bot.Token}
	args := []string{"run", "--brain", dir, "--database-url", s.dsn, "--telegram-api-url", s.url, "--listen", "off"}
	first := spawn(t, env, args...)
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "hello")
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for at := ""; at != "2"; { // steps that it has taken: it hangs
		raw, _ := os.ReadFile(filepath.Join(agent, "at"))
		if at = string(raw); pause(ctx) != nil {
			t.Fatalf("the agent was never asked\n%s", first.log)
		}
	}
	first.kill()
	if !agenttest.Gone(t, agent, "process-1") {
		t.Error("the agent lives on")
	}
	spawn(t, env, args...)
	if words := s.await(dm, 1); words[0] != "Back." {
		t.Errorf("the turn was answered with %q", words)
	}
}
