package hooks_test

import (
	"fmt"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
	"attache/internal/hooks"
)

// A hook that a new row of a table wakes, or a press of a button; its gate stands
// beside it, and what its run says goes to another place than where it happened.
func ExampleRead() {
	tree := brainfile.Of(
		brainfile.New("features/support/opened.hook.md", []byte(`---
on: [row:tickets, "button:ticket:"]
where: { chat: "tg:chat:-1002" }
agent: desk
place: { chat: "tg:chat:-1001", thread: 42 }
reach: [ticket]
batch: each
outcome: The ticket is dealt with.
---
Look at ticket {{ event.id }}.
`)),
		brainfile.New("features/support/opened.hook.ts", []byte(`export default defineGate(event => ({ entity: event.id }))`)),
	)
	list, problems := hooks.Read(tree, hooks.Frame{Frame: entity.Frame{
		Roles: map[attache.RoleID]entity.Standing{"desk": {}},
		Bots:  []attache.BotID{"nova"},
		Rule:  func(attache.Place) entity.Standing { return entity.Standing{} },
		Body:  func(_ string, _ int, body string) (string, []attache.Problem) { return body, nil },
	}})
	fmt.Println(len(problems), "mistakes")
	for _, h := range list {
		fmt.Println(h.ID, "is woken by", h.On, "in", h.Where.Chat)
		fmt.Println("posts in", h.Place, "and reaches", h.Reach)
		fmt.Println("its gate is", h.Gate)
	}
	// Output:
	// 0 mistakes
	// opened is woken by [row:tickets:insert button:ticket:] in tg:chat:-1002
	// posts in nova/-1001/42 and reaches [ticket]
	// its gate is features/support/opened.hook.ts
}
