package rehearsal_test

import (
	"fmt"
	"strings"
	"testing"

	"attache/internal/model"
	"attache/internal/rehearsal"
)

func body(t *testing.T, tools []model.Tool, texts ...string) []byte {
	t.Helper()
	r := model.Request{Tools: tools}
	for _, text := range texts {
		r.Messages = append(r.Messages, model.Message{Role: model.RoleSystem, Text: text})
	}
	raw, err := model.Encode(model.Profile{Model: "m"}, r)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestCacheCountsByPrefix(t *testing.T) {
	long := func(s string) string { return strings.Repeat(s, 400) }
	var c rehearsal.Cache
	take := func(raw []byte) rehearsal.Spend {
		t.Helper()
		s, err := c.Take(raw)
		if err != nil {
			t.Fatal(err)
		}
		if s.Cached+s.Written+s.Plain != s.Prompt {
			t.Errorf("%+v does not add up", s)
		}
		return s
	}
	first := take(body(t, nil, long("a"), long("b"), "tail 1"))
	if first.Cached != 0 || first.Written != first.Prompt {
		t.Errorf("first: %+v", first)
	}
	if s := take(body(t, nil, long("a"), long("b"), "tail 2", "more")); s.Cached < 200 || s.Cached > 230 {
		t.Errorf("a shared beginning: %+v", s)
	}
	if s := take(body(t, nil, long("a")+"!", long("b"), "tail 1")); s.Cached != 0 {
		t.Errorf("a changed front costs everything behind it: %+v", s)
	}
	if s := take(body(t, []model.Tool{{Name: "x"}}, long("a"), long("b"))); s.Cached != 0 {
		t.Errorf("another tool list: %+v", s)
	}
	if s := take(body(t, nil, long("a"), long("b"), "tail 1")); s.Cached != s.Prompt || s.Billed() >= first.Billed()/10 {
		t.Errorf("the same again: %+v", s)
	}
	if _, err := c.Take([]byte("{")); err == nil {
		t.Error("no error for a body that is no JSON")
	}
}

func TestCacheMinimum(t *testing.T) {
	c := rehearsal.Cache{Minimum: 1024}
	for range 2 {
		if s, _ := c.Take(body(t, nil, "short")); s.Plain != s.Prompt || s.Billed() != float64(s.Prompt) {
			t.Errorf("a short prompt is neither read nor written: %+v", s)
		}
	}
}

func TestCacheForgets(t *testing.T) {
	var c rehearsal.Cache
	c.Take(body(t, nil, "the first"))
	for i := range 60_000 {
		c.Take([]byte(fmt.Sprintf(`{"model":"%d"}`, i)))
	}
	if s, _ := c.Take(body(t, nil, "the first")); s.Cached != 0 {
		t.Errorf("remembered for ever: %+v", s)
	}
}

func TestSpend(t *testing.T) {
	s := rehearsal.Spend{Prompt: 10, Cached: 10}.Add(rehearsal.Spend{Prompt: 12, Written: 8, Plain: 4})
	if s.Prompt != 22 || s.Billed() != 1+10+4 {
		t.Errorf("%+v bills %v", s, s.Billed())
	}
}
