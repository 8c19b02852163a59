package modeltest_test

import (
	"bytes"
	"testing"
	"time"

	"attache/internal/model"
	"attache/internal/model/modeltest"
)

func talk(t *testing.T, s *modeltest.Server, messages ...model.Message) model.Result {
	t.Helper()
	c := model.New(model.Profile{Name: "m", Model: "m", BaseURL: s.URL}, model.Options{Transport: s.Transport()})
	r, err := c.Complete(t.Context(), model.Request{Messages: messages}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func say(role model.Role, text string) model.Message { return model.Message{Role: role, Text: text} }

// A tool loop: the rule that asks for the tool does not answer its result.
func TestRules(t *testing.T) {
	s := modeltest.NewInMemory(t,
		modeltest.Rule{Text: "open", Answer: modeltest.Use("context_open", `{"name":"policy"}`)},
		modeltest.Rule{Tool: "context_open", Answer: modeltest.Text("opened")},
		modeltest.Rule{Call: 4, Answer: modeltest.Text("fourth")},
		modeltest.Rule{Fits: func(r modeltest.Request) bool { return len(r.Messages) == 2 }, Answer: modeltest.Text("two")},
		modeltest.Once(modeltest.Text("once")), modeltest.Rule{Answer: modeltest.Text("else")})
	input := say(model.RoleUser, "please open it")
	first := talk(t, s, input)
	if len(first.ToolCalls) != 1 {
		t.Fatalf("%+v", first)
	}
	again := talk(t, s, input,
		model.Message{Role: model.RoleAssistant, ToolCalls: first.ToolCalls},
		model.Message{Role: model.RoleTool, ToolCallID: first.ToolCalls[0].ID, Text: "{}"})
	if again.Text != "opened" {
		t.Errorf("%+v", again)
	}
	hi := say(model.RoleUser, "hi")
	for _, want := range []string{"once", "fourth", "else"} {
		if got := talk(t, s, hi); got.Text != want {
			t.Errorf("got %q, want %q", got.Text, want)
		}
	}
	if got := talk(t, s, say(model.RoleSystem, "x"), hi); got.Text != "two" {
		t.Errorf("got %q", got.Text)
	}
}

// Two turns of one conversation: what the second one reads from the cache ends
// where the first one's input ended, and Until gives just those bytes.
func TestCacheAndPrefix(t *testing.T) {
	s := modeltest.NewInMemory(t, modeltest.Rule{Answer: modeltest.Text("ok")})
	front := []model.Message{say(model.RoleDeveloper, string(bytes.Repeat([]byte("rules "), 200))), say(model.RoleUser, "one")}
	talk(t, s, append(front[:2:2], say(model.RoleSystem, "the tail of one"))...)
	r := talk(t, s, append(front[:2:2], say(model.RoleAssistant, "ok"), say(model.RoleUser, "two"))...)
	q := s.Requests()
	prefix := q[0].Until(1)
	if !bytes.HasSuffix(prefix, []byte(`{"role":"user","content":"one"}`)) || !bytes.HasPrefix(q[1].Raw, prefix) {
		t.Errorf("prefix %s of %s", prefix, q[1].Raw)
	}
	if u := r.Usage; u.Cached == 0 || u.Cached != q[1].Spend.Cached || u.In-u.Cached != q[1].Spend.Written || u.In-u.Cached > 30 {
		t.Errorf("usage %+v, spend %+v", u, q[1].Spend)
	}
	if sum := s.Spend(); sum != q[0].Spend.Add(q[1].Spend) {
		t.Errorf("sum %+v", sum)
	}
}

// Step lets a test see the answer grow; Wait and Hold keep order without sleeping.
func TestSignals(t *testing.T) {
	hold, step := make(chan struct{}), make(chan struct{})
	s := modeltest.New(t, modeltest.Rule{Answer: modeltest.Answer{Text: "a b ", Hold: hold, Step: step}})
	c := model.New(model.Profile{Model: "m", BaseURL: s.URL}, model.Options{})
	defer c.Close()
	words := make(chan string)
	go func() {
		defer close(words)
		c.Complete(t.Context(), model.Request{Messages: []model.Message{say(model.RoleUser, "x")}}, func(e model.Event) {
			if e.Kind == model.EventText {
				words <- e.Text
			}
		}, nil)
	}()
	if got := s.Wait(1); got[0].LastUser() != "x" {
		t.Errorf("%+v", got)
	}
	close(hold)
	for _, want := range []string{"a ", "b "} {
		select {
		case got := <-words:
			t.Fatalf("%q came before its step", got)
		case step <- struct{}{}:
		}
		select {
		case got := <-words:
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no word after its step")
		}
	}
	if _, more := <-words; more {
		t.Error("more words than steps")
	}
}
