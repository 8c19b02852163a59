package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/telegramsim"
	"attache/internal/web/playground"
)

// What the page shows of the simulator: who is where, drafts with their stop,
// typing, answers to buttons; and what people do there.
func TestClient(t *testing.T) {
	d, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Sim.Close()
	w := newClient(d)
	chat := func(key string) playground.Chat {
		for _, c := range w.Look() {
			if c.Key == key {
				return c
			}
		}
		t.Fatalf("there is no chat %s", key)
		return playground.Chat{}
	}
	person := func(key string) playground.Person {
		for _, p := range w.voices() {
			if p.Key == key {
				return p
			}
		}
		t.Fatalf("there is nobody called %s", key)
		return playground.Person{}
	}
	act := func(who, chat string, a playground.Action) error {
		a.Person, a.Chat = person(who), chat
		return w.Act(a)
	}
	if c := chat("acme"); strings.Join(c.People, " ") != "ann dan" || c.Title != "Acme" || c.Bot != "nova" {
		t.Errorf("Acme is %+v", c)
	}
	if c := chat("desk"); len(c.Topics) != 2 || len(c.Posts) != 2 || c.Posts[0].Service == "" {
		t.Errorf("Desk is %+v", c)
	}
	if c := chat("nova-bo"); c.Title != "Nova" || strings.Join(c.People, " ") != "bo" || c.Kind != "private" {
		t.Errorf("Bo's private chat is %+v", c)
	}

	long := strings.Repeat("👍", 2047) + "x" + strings.Repeat("👍", 10) // 4115 units
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Say, Text: long}); err != nil {
		t.Fatal(err)
	}
	if c := chat("nova-bo"); len(c.Posts) != 2 || c.Posts[0].Text+c.Posts[1].Text != long || attache.UTF16Len(c.Posts[0].Text) != 4095 {
		t.Errorf("a long text is %d messages", len(c.Posts))
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Say, Text: "look", File: &playground.File{Kind: "document", Name: "a.txt", Data: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Edit, Message: 1, Text: "short"}); err != nil {
		t.Fatal(err)
	}
	if c := chat("nova-bo"); c.Posts[0].Text != "short" || c.Posts[0].Edits != 1 || c.Posts[2].File.Name != "a.txt" {
		t.Errorf("after a file and an edit: %+v", c.Posts)
	}
	for name, err := range map[string]error{
		"another's message": act("ann", "nova-bo", playground.Action{Do: playground.Edit, Message: 1, Text: "mine"}),
		"not a member":      act("cleo", "acme", playground.Action{Do: playground.Say, Text: "hi"}),
		"no draft":          act("bo", "nova-bo", playground.Action{Do: playground.Stop}),
		"no such button":    act("bo", "nova-bo", playground.Action{Do: playground.Press, Message: 1, Button: "x"}),
		"no such deed":      act("bo", "nova-bo", playground.Action{Do: "rob"}),
		"no such chat":      act("bo", "x", playground.Action{Do: playground.Say, Text: "x"}),
	} {
		if err == nil {
			t.Errorf("%s: it was done", name)
		}
	}

	bo := chat("nova-bo")
	call := func(method string, params map[string]any) {
		t.Helper()
		botCall(t, d, method, params)
	}
	if len(bo.Signs) != 0 {
		t.Errorf("at rest it shows %+v", bo.Signs)
	}
	call("sendChatAction", map[string]any{"chat_id": 102, "action": "typing"})
	if s := chat("nova-bo").Signs; len(s) != 1 || s[0].Draft != nil || s[0].Who.Name != "Nova" {
		t.Errorf("typing shows as %+v", s)
	}
	call("sendMessageDraft", map[string]any{"chat_id": 102, "draft_id": 5, "text": "I am wri", "can_stop": true})
	if s := chat("nova-bo").Signs; len(s) != 1 || s[0].Draft == nil || s[0].Draft.Text != "I am wri" || !s[0].CanStop {
		t.Errorf("a draft shows as %+v", s)
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Stop}); err != nil {
		t.Fatal(err)
	}
	if s := chat("nova-bo").Signs; len(s) != 0 {
		t.Errorf("a stopped draft shows as %+v", s)
	}
	call("sendMessageDraft", map[string]any{"chat_id": 102, "draft_id": 6, "text": "again"})
	call("sendMessage", map[string]any{"chat_id": 102, "text": "Done.", "reply_markup": map[string]any{"inline_keyboard": [][]map[string]any{{{"text": "Yes", "callback_data": "y"}}}}})
	c := chat("nova-bo")
	if len(c.Signs) != 0 || len(c.Posts) != 4 || c.Posts[3].Buttons[0][0].Data != "y" || !c.Posts[3].Bot {
		t.Errorf("after the post: %+v %+v", c.Signs, c.Posts[len(c.Posts)-1])
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Press, Message: 4, Button: "y"}); err != nil {
		t.Fatal(err)
	}
	for query := range w.pressed {
		if query != "" {
			call("answerCallbackQuery", map[string]any{"callback_query_id": query, "text": "noted"})
		}
	}
	if s := chat("nova-bo").Signs; len(s) != 1 || s[0].Notice != "noted" || s[0].For != "tg:user:102" {
		t.Errorf("the answer to a button shows as %+v", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Wait(ctx, func() bool { return len(w.Sim.Calls(telegramsim.Filter{Method: "sendMessage"})) == 1 }); err != nil {
		t.Error(err)
	}
	if bad := d.Sim.Violations(); len(bad) > 0 {
		t.Errorf("Telegram would complain: %v", bad)
	}
}

// botCall is a call of the demo's bot, made by hand.
func botCall(t *testing.T, d *World, method string, params map[string]any) {
	t.Helper()
	body, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(d.URL+"/bot"+d.Bot.Token+"/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if answer, _ := io.ReadAll(r.Body); r.StatusCode != 200 {
		t.Fatalf("%s: %s", method, answer)
	}
}
