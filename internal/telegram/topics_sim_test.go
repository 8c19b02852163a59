package telegram_test

import (
	"errors"
	"strings"
	"testing"

	"attache"
	"attache/internal/telegram"
	"attache/internal/telegramsim"
)

// Topics are opened and closed where Telegram lets the bot, and its reason is told
// where it does not.
func TestTopics(t *testing.T) {
	sim := telegramsim.New(telegramsim.Options{})
	defer sim.Close()
	base, err := sim.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ana := sim.AddPerson(telegramsim.User{Name: "Ana"})
	nova := sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	desk := sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, ana, nova)
	group := sim.AddChat(telegramsim.Chat{Kind: "supergroup"}, ana, nova)
	dm := sim.DM(ana, nova)
	client := telegram.NewClient(telegram.ClientOptions{Bot: "nova", Token: attache.NewSecret(nova.Token), BaseURL: base})
	sender := telegram.NewSender(telegram.SenderOptions{Client: client})
	refused := func(what, want string, err error) {
		t.Helper()
		e, ok := errors.AsType[*telegram.CallError](err)
		if !ok || !e.Certain || !strings.Contains(e.Description, want) {
			t.Errorf("%s: %v, want a refusal that says %q", what, err, want)
		}
	}
	_, err = sender.CreateTopic(t.Context(), group.ID, "Orders")
	refused("a plain group", "not a forum", err)
	_, err = sender.CreateTopic(t.Context(), desk.ID, "Orders")
	refused("no administrator", "not enough rights", err)
	desk.SetStatus(ana, nova, "administrator")
	thread, err := sender.CreateTopic(t.Context(), desk.ID, "Orders")
	if err != nil || thread == 0 || len(desk.Topics()) != 1 || desk.Topics()[0].Name != "Orders" {
		t.Fatalf("%d %v %+v", thread, err, desk.Topics())
	}
	for range 2 { // the second time it is closed already
		if err := sender.CloseTopic(t.Context(), desk.ID, thread); err != nil || !desk.Topics()[0].Closed {
			t.Errorf("%v %+v", err, desk.Topics())
		}
	}
	refused("no such topic", "thread not found", sender.CloseTopic(t.Context(), desk.ID, thread+9))
	dm.SetForum(true)
	if thread, err := sender.CreateTopic(t.Context(), dm.ID, "Taxes"); err != nil || thread == 0 {
		t.Errorf("a private topic: %d %v", thread, err)
	}
	if bad := sim.Violations(); len(bad) > 0 {
		t.Error(bad)
	}
}
