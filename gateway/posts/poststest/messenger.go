// Package poststest stands in for Telegram where posts are tested: a messenger that
// takes them and answers as it is told, and forms whose wire is plain JSON.
//
// In these forms "|" cuts a text into parts and rich text is never cut, so a rich
// text with "|" in it becomes more parts than one when it is refused.
package poststest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"attache"
	"attache/gateway/posts"
)

// Post is one part as the messenger got it.
type Post struct {
	Chat   attache.ChatID
	Thread attache.ThreadID
	Reply  attache.MessageID
	Text   string
	Format attache.Format
	File   string `json:"-"` // "name: what is in it"
}

// Messenger is a courier. Its fields are set before it is used.
type Messenger struct {
	Answers []attache.Delivery // for the first calls; one that says sent, and every later call, is taken
	Gate    chan struct{}      // when set, each call waits for a token
	Busy    bool               // the gate is never free at once

	mu      sync.Mutex
	changed *sync.Cond
	posts   []Post
}

// New makes a messenger that takes everything.
func New() *Messenger {
	m := &Messenger{}
	m.changed = sync.NewCond(&m.mu)
	return m
}

// Ready is part of posts.Courier.
func (m *Messenger) Ready(attache.ChatID) bool { return !m.Busy }

// Clear is part of posts.Courier.
func (m *Messenger) Clear(ctx context.Context, _ attache.ChatID) error { return ctx.Err() }

// Deliver is part of posts.Courier. Messages are numbered from 1001.
func (m *Messenger) Deliver(_ context.Context, p attache.Part) attache.Delivery {
	if m.Gate != nil {
		<-m.Gate
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.changed.Broadcast()
	if len(m.Answers) > 0 {
		d := m.Answers[0]
		m.Answers = m.Answers[1:]
		if d.Fate != attache.FateSent {
			return d
		}
	}
	x := read(p)
	if p.File != nil {
		x.File = p.File.Name + ": " + string(p.File.Data)
	}
	m.posts = append(m.posts, x)
	return attache.Delivery{Fate: attache.FateSent, Messages: []attache.MessageID{attache.MessageID(1000 + len(m.posts))}, Thread: x.Thread}
}

// Texts waits until n posts have come and gives the texts of all in order.
func (m *Messenger) Texts(t *testing.T, n int) []string {
	t.Helper()
	var out []string
	for _, p := range m.Wait(t, n) {
		out = append(out, p.Text)
	}
	return out
}

// Wait waits until n posts have come and gives all in order.
func (m *Messenger) Wait(t *testing.T, n int) []Post {
	t.Helper()
	const patience = 20 * time.Second
	deadline := time.AfterFunc(patience, func() { m.changed.Broadcast() })
	defer deadline.Stop()
	end := time.Now().Add(patience)
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.posts) < n {
		if time.Now().After(end) {
			t.Fatalf("%d posts came, %d were awaited: %v", len(m.posts), n, m.posts)
		}
		m.changed.Wait()
	}
	return slices.Clone(m.posts)
}

// Forms gives the forms that the messenger reads.
func Forms() posts.Forms { return posts.Forms{Compose: compose, Simpler: simpler, Retarget: retarget} }

func compose(o attache.Outgoing) []attache.Part {
	if strings.TrimSpace(o.Markdown) == "" && o.File == nil {
		return nil
	}
	texts := strings.Split(o.Markdown, "|")
	if o.Format == attache.FormatRich {
		texts = []string{o.Markdown}
	}
	var parts []attache.Part
	for i, text := range texts {
		x := Post{Chat: o.Place.Chat, Thread: o.Place.Thread, Text: text, Format: o.Format}
		if i == 0 {
			x.Reply = o.ReplyTo
		}
		parts = append(parts, attache.Part{Method: "say", Params: write(x), Text: text, Format: o.Format})
	}
	parts[0].File = o.File
	return parts
}

func simpler(p attache.Part) []attache.Part {
	x := read(p)
	o := attache.Outgoing{Place: attache.Place{Chat: x.Chat, Thread: x.Thread}, Markdown: p.Text, ReplyTo: x.Reply, File: p.File}
	switch p.Format {
	case attache.FormatRich:
		o.Format = attache.FormatEntities
	case attache.FormatEntities:
		o.Format = attache.FormatPlain
	default:
		return nil
	}
	return compose(o)
}

func retarget(p attache.Part, to attache.Place) attache.Part {
	x := read(p)
	x.Chat, x.Thread, x.Reply = to.Chat, to.Thread, 0
	p.Params = write(x)
	return p
}

// read and write panic on what they do not know: these forms made it.
func read(p attache.Part) (x Post) {
	if err := json.Unmarshal(p.Params, &x); err != nil {
		panic(err)
	}
	return x
}

func write(x Post) json.RawMessage {
	b, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	return b
}
