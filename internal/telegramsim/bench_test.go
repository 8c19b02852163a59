package telegramsim_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"attache/internal/telegramsim"
)

// BenchmarkSend measures whole HTTP calls on the loopback, client included.
func BenchmarkSend(b *testing.B) {
	w := newWorld(b, telegramsim.Options{Keep: 100})
	w.DM(w.ana, w.nova)
	body := []byte(`{"chat_id":5,"text":"hello there","entities":[{"type":"bold","offset":0,"length":5}]}`)
	url := w.url + "/bot" + w.nova.Token + "/sendMessage"
	b.RunParallel(func(pb *testing.PB) {
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		for pb.Next() {
			resp, err := client.Post(url, "application/json", bytes.NewReader(body))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				b.Error(resp.Status)
			}
		}
	})
}

// BenchmarkSay measures a person's line up to the bot's queue.
func BenchmarkSay(b *testing.B) {
	w := newWorld(b, telegramsim.Options{Keep: 100})
	w.nova.SetPrivacy(false)
	group := w.AddChat(telegramsim.Chat{Kind: "supergroup"}, w.ana, w.nova)
	for b.Loop() {
		group.Say(w.ana, "a line of ordinary length in a group, with an @mention")
		if w.Pending(w.nova) > 1000 {
			if _, err := w.call(w.nova, "getUpdates", `{"offset":-1}`); err != nil {
				b.Fatal(err)
			}
		}
	}
}
