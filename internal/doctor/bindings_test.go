package doctor

import (
	"fmt"
	"testing"

	"attache"
)

// What is wrong with a line that binds a chat is told in that chat, also while it is held
// to a key; where lines disagree the finding names two keys, and is told in no such chat.
//
// row D14 (what the doctor tells of bindings)
func TestFindingsOfBindingsAreOfTheirChat(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "constitution/MANIFEST.yaml", "name: Shop\n",
		"features/a/desk.agent.md", "---\ncontexts: []\n---\nYou sell.\n",
		"features/a/client.context.md", "---\nentity: client slug\nwhen: [chat]\n---\nOne.\n",
		"features/a/rules.context.md", "---\nwhen: [chat]\n---\nRules.\n",
		"constitution/access.yaml", `bots:
  nova:
    chats:
      "tg:chat:-1": { role: desk, contexts: { clinet: acme } }
      "tg:chat:-2": { role: desk, contexts: { client: } }
      "tg:chat:-3": { role: desk, threads: { "0": { contexts: { rules: x } } } }
      "tg:chat:-4": { role: desk, contexts: { client: acme }, threads: { "0": { contexts: { client: initech } } } }
      "tg:chat:-5": { role: dsek, contexts: { client: acme } }
  vega:
    chats:
      "tg:chat:-4": { role: desk, contexts: { client: globex } }
`)
	b, problems := load(t, dir)
	got := map[attache.ChatID]int{}
	for _, f := range Files(b, problems) {
		if f.Level == Fail {
			got[f.Chat]++
		}
	}
	if want := map[attache.ChatID]int{-1: 1, -2: 1, -3: 1, 0: 3}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v\n%s", got, lines(Files(b, problems)))
	}
}
