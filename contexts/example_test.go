package contexts_test

import (
	"fmt"

	"attache"
	"attache/contexts"
	"attache/internal/brainfile"
)

// A reply to the post of a ticket's run: from a file to the bytes that the model
// reads, and to what is held for the next turns.
func ExampleLibrary_Choose() {
	tree := brainfile.Of(brainfile.New("features/support/ticket.context.md", []byte(`---
entity: ticket id
when: [reply, ask]
data: [{ view: support_ticket_card, by: ticket_id }]
---
Quote the SLA from the card, not from memory.
`)))
	library, problems := contexts.Read(tree, contexts.Frame{Chars: 3000, Keep: 3, TurnChars: 9000, MaxActive: 3, Rows: 20, Views: 8})
	fmt.Println(len(problems), "mistakes")

	choice := library.Choose(contexts.Turn{
		ID: 7, Bot: "nova",
		Role:    contexts.Role{ID: "support", Contexts: []attache.ContextID{"ticket"}, CanOpen: true},
		Replies: []contexts.Source{{Why: "a reply to message 812", Reach: attache.Reach{{Context: "ticket", Key: "T-481"}}}},
	})
	given := map[contexts.Need]contexts.Given{}
	for _, need := range choice.Needs() { // the caller reads them, all in one snapshot
		given[need] = contexts.Given{Columns: []string{"ticket_id", "sla"}, Values: [][]string{{string(need.Key), "4h"}}}
	}
	tail := choice.Render(given)
	fmt.Println(string(tail.Bytes))
	fmt.Println(contexts.Line(tail.Manifest))
	fmt.Println(library.Keep(nil, choice.Holds(), true)[0].Entry())

	// Output:
	// 0 mistakes
	// <feature-context name="ticket" feature="support" entity="T-481" link="reply">
	// <section name="instructions" kind="control">Quote the SLA from the card, not from memory.</section>
	// <section name="support_ticket_card" kind="data" rows="1">| ticket_id | sla |
	// | --- | --- |
	// | T-481 | 4h |</section>
	// </feature-context>
	// Contexts: ticket@T-481 (reply, 312)
	// ticket@T-481
}
