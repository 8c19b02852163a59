package main

import (
	"fmt"
	"strings"
	"testing"

	"attache/internal/telegramsim"
)

// The menus of Telegram show the commands: everybody's has no /doctor, that of an
// owner's private chat has one.
//
// row L12 (published with setMyCommands)
func TestCommandsArePublished(t *testing.T) {
	s := newStage(t)
	s.sim.DM(s.ann, s.bot).Say(s.ann, "hello")
	s.start("--brain", strangersBrain(t))
	published := func() []telegramsim.Call { return s.sim.Calls(telegramsim.Filter{Method: "setMyCommands"}) }
	if err := s.sim.Wait(soon(t), func() bool { return len(published()) == 2 && published()[1].Done }); err != nil {
		t.Fatalf("%d menus were published\n%s", len(published()), s.log)
	}
	for i, want := range []struct {
		scope  string
		doctor bool
	}{{`"type":"default"`, false}, {fmt.Sprintf(`"chat_id":%d`, s.ann.ID), true}} {
		call := published()[i]
		commands := string(call.Params["commands"])
		if !call.OK || !strings.Contains(string(call.Params["scope"]), want.scope) || strings.Contains(commands, `"doctor"`) != want.doctor {
			t.Errorf("menu %d: %s for %s", i, commands, call.Params["scope"])
		}
		for _, name := range []string{"context", "new", "stop", "status", "help"} {
			if !strings.Contains(commands, fmt.Sprintf(`"command":%q`, name)) {
				t.Errorf("menu %d has no /%s", i, name)
			}
		}
	}
}
