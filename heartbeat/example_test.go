package heartbeat_test

import (
	"fmt"
	"time"

	"attache"
	"attache/heartbeat"
	"attache/internal/brainfile"
	"attache/internal/brainfile/entity"
)

// A beat on working days at nine and at two, quiet outside of its hours, over the
// weekend on which the clock goes forward.
func ExampleRead() {
	file := brainfile.New("features/support/sla.heartbeat.md", []byte(`---
cron: 0 9,14 * * mon-fri
timezone: Europe/Amsterdam
agent: desk
place: { chat: "tg:chat:-1001", thread: 42 }
hours: 08:00-18:00
catchUp: skip
---
Name the tickets that are late. If there are none, answer NOTHING.
`))
	beats, problems := heartbeat.Read(brainfile.Of(file), heartbeat.Frame{Frame: entity.Frame{
		Roles: map[attache.RoleID]entity.Standing{"desk": {}},
		Bots:  []attache.BotID{"nova"},
		Rule:  func(attache.Place) entity.Standing { return entity.Standing{} },
		Body:  func(_ string, _ int, body string) (string, []attache.Problem) { return body, nil },
	}})
	fmt.Println(len(problems), "mistakes")
	b := beats[0]
	fmt.Println(b.ID, "posts in", b.Place)
	at := time.Date(2026, 3, 27, 12, 0, 0, 0, time.UTC)
	for range 3 {
		at = b.Next(at)
		fmt.Println(at.Format("Mon 2 January 15:04 MST"))
	}
	// Output:
	// 0 mistakes
	// sla posts in nova/-1001/42
	// Fri 27 March 14:00 CET
	// Mon 30 March 09:00 CEST
	// Mon 30 March 14:00 CEST
}
