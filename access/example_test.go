package access_test

import (
	"fmt"

	"attache"
	"attache/access"
	"attache/internal/brainfile"
)

// A small access.yaml and what it says about four messages.
func Example() {
	file := brainfile.New("constitution/access.yaml", []byte(`
owners: ["tg:user:111111"]
bots:
  nova:
    dm: { role: nova, people: ["tg:user:111111"] }
    default: { role: guest, people: everyone, engage: mention }
    chats:
      "tg:chat:-1001234567890":
        role: client-desk
        people: everyone
        contexts: { client: acme }
        threads:
          "42": { role: support, engage: all }
`))
	roles := map[attache.RoleID]access.Role{"nova": {}, "guest": {}, "client-desk": {}, "support": {}}
	contexts := map[attache.ContextID]access.Context{"client": {Loads: true, KeyKind: "client slug", Path: "features/agency/client.context.md"}}
	policy, problems, _ := access.Read(file, access.Names{Roles: roles, Contexts: contexts})
	fmt.Println(len(problems), "problems")

	for _, at := range []attache.Place{
		{Bot: "nova", Chat: -1001234567890},
		{Bot: "nova", Chat: -1001234567890, Thread: 42},
		{Bot: "nova", Chat: -5},
		{Bot: "nova", Chat: 222222},
	} {
		ruling := policy.For(at, "")
		in, why := ruling.Admits("tg:user:222222")
		fmt.Printf("%s: role %s, engage %s (%s)\n  tg:user:222222 let in: %t (%s)\n", at, ruling.Role, ruling.Engage, ruling.Why, in, why)
	}
	fmt.Println(policy.Bindings(-1001234567890, 42)[0].Key)
	// Output:
	// 0 problems
	// nova/-1001234567890/0: role client-desk, engage addressed (the rule tg:chat:-1001234567890 of nova on line 8)
	//   tg:user:222222 let in: true (people: everyone)
	// nova/-1001234567890/42: role support, engage all (the rule 42 of nova on line 13)
	//   tg:user:222222 let in: true (people: everyone)
	// nova/-5/0: role guest, engage mention (the rule default of nova on line 6)
	//   tg:user:222222 let in: true (people: everyone)
	// nova/222222/0: role nova, engage all (the rule dm of nova on line 5)
	//   tg:user:222222 let in: false (the rule on line 5 does not list tg:user:222222 in people)
	// acme
}

// A mistake silences the rule that it stands in, and says what was meant.
func ExampleRead_mistake() {
	file := brainfile.New("constitution/access.yaml", []byte(`bots:
  nova:
    dm: { role: nova, peeple: everyone }
    default: { role: guest, people: everyone }
`))
	policy, problems, usable := access.Read(file, access.Names{Roles: map[attache.RoleID]access.Role{"nova": {}, "guest": {}}})
	fmt.Println(problems[0], usable)
	fmt.Println(policy.For(attache.Place{Bot: "nova", Chat: 5}, "private").Why)
	fmt.Println(policy.For(attache.Place{Bot: "nova", Chat: -5}, "group").Why)
	// Output:
	// constitution/access.yaml:3:23: the key "peeple" is not known here; did you mean people? true
	// a mistake silences the rule dm on line 3: the key "peeple" is not known here
	// the rule default of nova on line 4
}
