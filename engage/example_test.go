package engage_test

import (
	"fmt"

	"attache"
	"attache/engage"
)

// Four messages in a group whose rule says `engage: addressed` and `observe: true`.
func ExampleDecide() {
	nova := engage.Self{Bot: "nova", User: "tg:user:700", Username: "nova_bot"}
	rule := engage.Rule{Engage: "addressed", Observe: true, Admitted: true}
	ann := attache.Person{ID: "tg:user:5", Name: "Ann"}

	mention := attache.Message{From: ann, Text: "👍 @nova_bot what is open?", Marks: []attache.Mark{{Kind: "mention", Offset: 3, Length: 9}}}
	other := attache.Message{From: ann, Text: "@nova_bot2 and you?", Marks: []attache.Mark{{Kind: "mention", Offset: 0, Length: 10}}}
	reply := attache.Message{From: ann, Text: "and tomorrow?", Reply: &attache.Reply{ID: 790, From: attache.Person{ID: "tg:user:700"}}}
	bot := attache.Message{From: attache.Person{ID: "tg:user:8", IsBot: true}, Text: "beep"}

	for _, m := range []attache.Message{mention, other, reply, bot} {
		d := engage.Decide(rule, m, nova)
		fmt.Printf("%s: %s\n", d.Act, d.Why)
	}
	// Output:
	// answer: it mentions @nova_bot
	// observe: engage: addressed, and it neither mentions the bot nor replies to it; the room is observed
	// answer: it replies to the bot
	// ignore: another bot wrote it, and the rule has no bots: true
}

// A command is for this bot when it names it or nobody.
func ExampleCommand() {
	for _, text := range []string{"/triage@nova_bot printer on fire", "/triage@other_bot printer on fire"} {
		m := attache.Message{Text: text, Marks: []attache.Mark{{Kind: "bot_command", Offset: 0, Length: len(text) - len(" printer on fire")}}}
		name, args, ok := engage.Command(m, "nova_bot")
		fmt.Printf("%q %q %t\n", name, args, ok)
	}
	// Output:
	// "triage" "printer on fire" true
	// "" "" false
}
