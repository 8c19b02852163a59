package telegram_test

import (
	"context"
	"testing"
	"time"

	"attache"
	"attache/internal/telegram"
	"attache/internal/telegram/richtext"
	"attache/internal/telegramsim"
)

// Files of each kind against the simulator, which checks each call against the Bot
// API: they arrive whole, with their words, in their topic.
//
// row L8 (out)
func TestFilesArrive(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sim := telegramsim.New(telegramsim.Options{})
	defer sim.Close()
	base, err := sim.Listen()
	if err != nil {
		t.Fatal(err)
	}
	nova := sim.AddBot(telegramsim.User{Name: "Nova", Username: "nova_bot"})
	ann := sim.AddPerson(telegramsim.User{Name: "Ann"})
	forum := sim.AddChat(telegramsim.Chat{Kind: "forum", Title: "Desk"}, ann, nova)
	topic := forum.CreateTopic(ann, "Billing")
	client := telegram.NewClient(telegram.ClientOptions{Bot: "nova", Token: attache.NewSecret(nova.Token), BaseURL: base})
	sender := telegram.NewSender(telegram.SenderOptions{Client: client})
	question, err := forum.Send(telegramsim.Line{From: ann, Thread: topic, Text: "the report?"})
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []attache.Upload{
		{Kind: "document", Name: "Bericht für Ann.pdf", MIME: "application/pdf", Data: []byte("%PDF\x00\xff\r\n")},
		{Kind: "photo", Name: "a.png", MIME: "image/png", Data: []byte("\x89PNG")},
		{Kind: "voice", Name: "note.ogg", MIME: "audio/ogg", Data: []byte("OggS")},
	} {
		before := len(forum.Posts(topic))
		for _, p := range richtext.Compose(attache.Outgoing{
			Place: attache.Place{Bot: "nova", Chat: forum.ID, Thread: topic}, Markdown: "Look: **here**", ReplyTo: question, File: &u,
			Buttons: [][]attache.Button{{{Text: "Thanks", Data: "thanks"}}},
		}) {
			if d := sender.Deliver(ctx, p); d.Fate != attache.FateSent || d.Thread != topic {
				t.Errorf("%s: %+v", u.Kind, d)
			}
		}
		posts := forum.Posts(topic)[before:]
		if len(posts) != 1 {
			t.Fatalf("%s: %d posts", u.Kind, len(posts))
		}
		p := posts[0]
		if p.File == nil || p.File.Kind != u.Kind || p.File.Name != u.Name || p.File.MIME != u.MIME || string(p.File.Data) != string(u.Data) {
			t.Errorf("%s: the file is %+v", u.Kind, p.File)
		}
		if p.Text != "Look: here" || len(p.Marks) != 1 || p.ReplyTo != question || len(p.Buttons) != 1 {
			t.Errorf("%s: %+v", u.Kind, p)
		}
	}
	if bad := sim.Violations(); len(bad) > 0 {
		t.Error(bad)
	}
	d := sender.Deliver(ctx, attache.Part{Method: "sendDocument", Params: []byte(`{"chat_id":5}`)})
	if d.Fate != attache.FateRefused || len(sim.Violations()) == 0 {
		t.Errorf("a document without its file: %+v", d)
	}
}
