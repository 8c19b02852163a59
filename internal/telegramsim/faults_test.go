package telegramsim_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"attache/internal/telegramsim"
)

func TestFaults(t *testing.T) {
	tests := []struct {
		fault   telegramsim.Fault
		answer  string // a part of the answer's description, "" when there is no readable answer
		effects int    // posts made by the one call
	}{
		{telegramsim.Fault{Kind: telegramsim.Flood, RetryAfter: 7}, "Too Many Requests: retry after 7", 0},
		{telegramsim.Fault{Kind: telegramsim.ServerError}, "Internal Server Error", 0},
		{telegramsim.Fault{Kind: telegramsim.Conflict}, "Conflict: terminated by other getUpdates request", 0},
		{telegramsim.Fault{Kind: telegramsim.Refuse, Text: "X"}, "Bad Request: X", 0},
		{telegramsim.Fault{Kind: telegramsim.Unknown}, "Not Found: method not found", 0},
		{telegramsim.Fault{Kind: telegramsim.BadGateway}, "", 0},
		{telegramsim.Fault{Kind: telegramsim.CutBefore}, "", 0},
		{telegramsim.Fault{Kind: telegramsim.CutAfter}, "", 1},
		{telegramsim.Fault{Kind: telegramsim.Truncated}, "", 1},
	}
	for _, tt := range tests {
		t.Run(string(tt.fault.Kind), func(t *testing.T) {
			w := newWorld(t, telegramsim.Options{})
			dm := w.DM(w.ana, w.nova)
			tt.fault.Method = "sendMessage"
			w.Break(tt.fault)
			ok(t, w.do(t, w.nova, "sendChatAction", `{"chat_id":5,"action":"typing"}`))
			a, err := w.call(w.nova, "sendMessage", `{"chat_id":5,"text":"x"}`)
			if (err != nil) != (tt.answer == "") || !strings.Contains(a.Description, tt.answer) {
				t.Errorf("answer %+v, error %v", a, err)
			}
			same(t, "posts", len(dm.Posts()), tt.effects)
			ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":5,"text":"x"}`))
			calls := w.Calls(telegramsim.Filter{Method: "sendMessage"})
			same(t, "calls", len(calls), 2)
			same(t, "recorded", []any{calls[0].FaultHit, calls[0].OK, calls[1].FaultHit}, []any{tt.fault.Kind, tt.effects == 1, ""})
			clean(t, w)
		})
	}
}

func TestFaultsPickTheirCalls(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	w.DM(w.ana, w.nova)
	w.DM(w.bob, w.nova)
	w.Break(telegramsim.Fault{Bot: w.nova, Chat: 6, Param: "reply_parameters", Skip: 1, Times: 2, Kind: telegramsim.ServerError})
	var got []bool
	for _, params := range []string{
		`{"chat_id":5,"text":"x","reply_parameters":{"message_id":1,"allow_sending_without_reply":true}}`,
		`{"chat_id":6,"text":"x"}`,
		`{"chat_id":6,"text":"x","reply_parameters":{"message_id":1,"allow_sending_without_reply":true}}`,
		`{"chat_id":6,"text":"x","reply_parameters":{"message_id":1,"allow_sending_without_reply":true}}`,
		`{"chat_id":6,"text":"x","reply_parameters":{"message_id":1,"allow_sending_without_reply":true}}`,
		`{"chat_id":6,"text":"x","reply_parameters":{"message_id":1,"allow_sending_without_reply":true}}`,
	} {
		got = append(got, w.do(t, w.nova, "sendMessage", "%s", params).OK)
	}
	same(t, "answers", got, "[true true true false false true]")
}

func TestHangAndSlow(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	dm := w.DM(w.ana, w.nova)
	w.Break(telegramsim.Fault{Method: "sendMessage", Kind: telegramsim.Hang})
	ctx, cancel := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/bot"+w.nova.Token+"/sendMessage",
			bytes.NewReader([]byte(`{"chat_id":5,"text":"x"}`)))
		if err != nil {
			gone <- err
			return
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		gone <- err
	}()
	calls := func() []telegramsim.Call { return w.Calls(telegramsim.Filter{Method: "sendMessage"}) }
	if err := w.Wait(patience(t), func() bool { return len(calls()) == 1 }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("a call that hangs: %v", err)
	}
	if err := w.Wait(patience(t), func() bool { return calls()[0].Done }); err != nil {
		t.Fatal(err)
	}
	same(t, "posts", len(dm.Posts()), 0)
	w.Break(telegramsim.Fault{Method: "sendMessage", Kind: telegramsim.Slow, Delay: 30 * time.Millisecond})
	ok(t, w.do(t, w.nova, "sendMessage", `{"chat_id":5,"text":"x"}`))
	if took := calls()[1].Took; took < 30*time.Millisecond {
		t.Errorf("a slow call took %v", took)
	}
	clean(t, w)
}

func TestWaitEndsWithItsContext(t *testing.T) {
	w := newWorld(t, telegramsim.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.Wait(ctx, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
