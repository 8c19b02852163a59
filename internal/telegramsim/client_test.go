package telegramsim_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"attache/internal/telegramsim"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
)

// The library speaks chunked multipart, empty for calls without parameters.
func TestTheLibraryAsAClient(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	ctx, cancel := context.WithCancel(patience(t))
	defer cancel()
	client, err := bot.New(w.nova.Token, bot.WithServerURL(w.url), bot.WithNotAsyncHandlers(),
		bot.WithDefaultHandler(func(ctx context.Context, b *bot.Bot, u *models.Update) {
			if u.Message == nil {
				return
			}
			if _, err := b.SendMessage(ctx, &bot.SendMessageParams{
				ChatID: u.Message.Chat.ID, Text: "echo: " + u.Message.Text,
				Entities:        []models.MessageEntity{{Type: models.MessageEntityTypeBold, Offset: 0, Length: 4}},
				ReplyParameters: &models.ReplyParameters{MessageID: u.Message.ID},
				ReplyMarkup:     &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "a", CallbackData: "b"}}}},
			}); err != nil {
				t.Error(err)
			}
		}))
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { client.Start(ctx) })
	dm.Say(w.ana, "hello")
	if err := w.Wait(ctx, func() bool { return len(dm.Posts()) == 1 }); err != nil {
		t.Fatal(err)
	}
	p := dm.Posts()[0]
	same(t, "post", []any{p.Text, p.Marks[0].Kind, p.ReplyTo, p.Buttons[0][0].Data}, "[echo: hello bold 1 b]")

	me, err := client.GetMe(ctx)
	if err != nil || me.Username != "nova_bot" {
		t.Errorf("getMe: %+v %v", me, err)
	}
	sent, err := client.SendDocument(ctx, &bot.SendDocumentParams{
		ChatID: 5, Caption: "here", Document: &models.InputFileUpload{Filename: "a.txt", Data: strings.NewReader("words")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := dm.Posts()[1].File; f == nil || !bytes.Equal(f.Data, []byte("words")) || f.Name != "a.txt" {
		t.Errorf("file: %+v", f)
	}
	file, err := client.GetFile(ctx, &bot.GetFileParams{FileID: sent.Document.FileID})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(client.FileDownloadLink(file))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	same(t, "download", []any{string(data), err}, "[words <nil>]")
	if _, err := client.SendMediaGroup(ctx, &bot.SendMediaGroupParams{ChatID: 5, Media: []models.InputMedia{
		&models.InputMediaPhoto{Media: "attach://a.png", MediaAttachment: strings.NewReader("a")},
		&models.InputMediaPhoto{Media: "attach://b.png", MediaAttachment: strings.NewReader("b"), Caption: "two"},
	}}); err != nil {
		t.Error(err)
	}
	same(t, "album", len(dm.Posts()), 4)
	if _, err := client.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: 5, MessageID: int(p.ID), Text: "better"}); err != nil {
		t.Error(err)
	}
	if _, err := client.SendMessageDraft(ctx, &bot.SendMessageDraftParams{ChatID: 5, DraftID: "7", Text: "so far"}); err != nil {
		t.Error(err)
	}
	dm.SetStatus(w.ana, w.nova, "kicked")
	if _, err := client.SendMessage(ctx, &bot.SendMessageParams{ChatID: 5, Text: "x"}); !errors.Is(err, bot.ErrorForbidden) {
		t.Errorf("blocked: %v", err)
	}
	cancel()
	running.Wait()
	clean(t, w)
}
