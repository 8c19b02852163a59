package telegram_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/telegram"
	"attache/internal/telegram/richtext"
	"attache/internal/telegram/updates"
	"attache/internal/telegramsim"
)

// A streamed answer against the simulator, which checks each call against the Bot
// API: the draft and the post have one form, the person's stop comes in, and
// nothing is shown behind the post.
//
// row L7
func TestDraftThenPost(t *testing.T) {
	for name, test := range map[string]struct{ answer, draft, post string }{
		"text": {"It **works**: see [the docs](https://example.org) and `go test`.", "sendMessageDraft", "sendMessage"},
		"rich": {"# Works\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```go\nx := 1\n```\n", "sendRichMessageDraft", "sendRichMessage"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			sim := telegramsim.New(telegramsim.Options{})
			defer sim.Close()
			base, err := sim.Listen()
			if err != nil {
				t.Fatal(err)
			}
			nova := sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
			dm := sim.DM(sim.AddPerson(telegramsim.User{Name: "Ana"}), nova)
			client := telegram.NewClient(telegram.ClientOptions{Bot: "nova", Token: attache.NewSecret(nova.Token), BaseURL: base})
			sender := telegram.NewSender(telegram.SenderOptions{Client: client})
			place := attache.Place{Bot: "nova", Chat: dm.ID}

			draft := sender.Draft(place, 77, attache.FormatAuto)
			defer draft.End()
			for end := range len(test.answer) + 1 {
				draft.Show(test.answer[:end])
			}
			if err := sim.Wait(ctx, func() bool {
				drafts := dm.Drafts()
				return len(drafts) > 0 && drafts[len(drafts)-1].Method == test.draft
			}); err != nil {
				t.Fatal(err)
			}
			if err := dm.StopDraft(0); err != nil {
				t.Error(err)
			}
			draft.End()
			shown := len(dm.Drafts())
			for _, part := range richtext.Compose(attache.Outgoing{Place: place, Markdown: test.answer, Format: attache.FormatAuto}) {
				if d := sender.Deliver(ctx, part); d.Fate != attache.FateSent {
					t.Fatal(d)
				}
			}
			draft.Show("too late")
			posts, drafts := dm.Posts(), dm.Drafts()
			if len(posts) != 1 || posts[0].Method != test.post || len(drafts) != shown || drafts[0].Draft != 77 {
				t.Errorf("posts %+v after drafts %+v", posts, drafts)
			}
			if bad := sim.Violations(); len(bad) > 0 {
				t.Error(bad)
			}
			stopped(t, client, place)
		})
	}
}

// stopped finds the press of the stop button among the updates.
func stopped(t *testing.T, client *telegram.Client, place attache.Place) {
	t.Helper()
	var raw []json.RawMessage
	params := map[string]any{"allowed_updates": []string{"stopped_message_generation"}}
	if err := client.Call(t.Context(), "getUpdates", params, &raw); err != nil {
		t.Fatal(err)
	}
	for _, u := range raw {
		if !strings.Contains(string(u), "stopped_message_generation") {
			continue
		}
		if got, err := updates.Decode("nova", u); err != nil || got.Stopped == nil || *got.Stopped != place {
			t.Errorf("%s: %+v, %v", u, got, err)
		}
		return
	}
	t.Errorf("no stop among %s", raw)
}

// Every beginning of a hard answer is a draft that Telegram takes.
func TestEveryBeginningIsTaken(t *testing.T) {
	sim := telegramsim.New(telegramsim.Options{})
	defer sim.Close()
	base, err := sim.Listen()
	if err != nil {
		t.Fatal(err)
	}
	nova := sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	dm := sim.DM(sim.AddPerson(telegramsim.User{Name: "Ana"}), nova)
	client := telegram.NewClient(telegram.ClientOptions{Bot: "nova", Token: attache.NewSecret(nova.Token), BaseURL: base})
	const answer = "Zoë 👩‍👩‍👧 **says** ||no|| to `a|b`:\n\n- [x] *one* [two](https://example.org/a_(b))\n  - ~~three~~\n\n| a | **b** |\n|:--|--:|\n| `1|2` | ![c](https://x.io/c.png) |\n\n" +
		"> quoted **text\n> goes** on\n\n1. ```go\n   x := \"```\"\n   ```\n\n<b>html</b> &amp; end ***"
	for _, format := range []attache.Format{attache.FormatAuto, attache.FormatRich, attache.FormatEntities} {
		for end := range len(answer) + 1 {
			part, ok := richtext.Draft(attache.Outgoing{Place: attache.Place{Chat: dm.ID}, Markdown: answer[:end], Format: format}, 7)
			if !ok {
				continue
			}
			if err := client.Call(t.Context(), part.Method, part.Params, nil); err != nil {
				t.Errorf("%q: %v", answer[:end], err)
			}
		}
	}
	if bad := sim.Violations(); len(bad) > 0 {
		t.Error(bad)
	}
}
