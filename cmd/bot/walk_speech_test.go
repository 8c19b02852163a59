package main

import (
	"fmt"
	"mime"
	"path"
	"strconv"
	"strings"

	"attache"
	"attache/internal/telegramsim"
	"attache/internal/telegramsim/format"
)

// say says something, once or several times.
func (p *play) say(s speech) error {
	for i := range s.times {
		if err := p.sayOnce(s, i+1); err != nil {
			return err
		}
	}
	return nil
}

func (p *play) sayOnce(s speech, n int) error {
	at, l, err := p.compose(s)
	if err != nil {
		return err
	}
	l.Text = strings.ReplaceAll(l.Text, "{n}", strconv.Itoa(n))
	if s.split {
		at.chat.SayLong(l.From, l.Text)
		return nil
	}
	id, err := at.chat.Send(l)
	if err == nil && s.label != "" {
		p.labels[s.label] = spoken{at, id}
	}
	return err
}

// compose looks up the names in what is said.
func (p *play) compose(s speech) (place, telegramsim.Line, error) {
	from, err := p.user(s.who)
	if err != nil {
		return place{}, telegramsim.Line{}, err
	}
	at, err := p.spot(s, from)
	if err != nil {
		return at, telegramsim.Line{}, err
	}
	l := telegramsim.Line{From: from, Thread: at.thread, Quote: s.quoting, Album: s.album, Silently: s.silently, File: p.file(s)}
	if l.Text, l.Marks, err = p.marked(s.text); err != nil {
		return at, l, err
	}
	if s.replying != "" {
		parent, err := p.find(s.replying, at)
		if err != nil {
			return at, l, err
		}
		l.ReplyTo, l.ReplyIn = parent.id, parent.chat
	}
	for name, into := range map[string]**telegramsim.User{s.forwarding: &l.Forward, s.via: &l.ViaBot} {
		if name == "" {
			continue
		}
		if *into, err = p.user(name); err != nil {
			return at, l, err
		}
	}
	if s.as != "" {
		if l.As, _, err = p.group(s.as); err != nil {
			return at, l, err
		}
	}
	return at, l, nil
}

// spot is where something is said: `in desk/billing`, or `to nova/taxes`.
func (p *play) spot(s speech, from *telegramsim.User) (place, error) {
	if !s.private {
		return p.place(s.where, false)
	}
	name, topic, inTopic := strings.Cut(s.where, "/")
	bot, err := p.user(name)
	if err != nil {
		return place{}, err
	}
	at := place{chat: p.dm(from, bot)}
	if inTopic {
		t, ok := p.topics[s.who+"/"+topic]
		if !ok {
			return at, fmt.Errorf("%s has no topic %s with %s", s.who, topic, name)
		}
		at.thread = t
	}
	return at, nil
}

// find gives what a label names, or the newest message of somebody in a place.
func (p *play) find(name string, at place) (spoken, error) {
	if s, ok := p.labels[name]; ok {
		return s, nil
	}
	if words, ok := strings.CutPrefix(name, `"`); ok {
		words = strings.TrimSuffix(words, `"`)
		for _, m := range newestFirst(at.chat.History(at.thread)) {
			if strings.Contains(m.Text, words) && !m.Deleted {
				return spoken{at, m.ID}, nil
			}
		}
		return spoken{}, fmt.Errorf("nobody has said %q here", words)
	}
	u, err := p.user(name)
	if err != nil {
		return spoken{}, fmt.Errorf("%s is neither the name of a message nor of somebody", name)
	}
	for _, m := range newestFirst(at.chat.History(at.thread)) {
		if m.From.ID == attache.UserID(u.ID) && !m.Deleted && m.Service == "" {
			return spoken{at, m.ID}, nil
		}
	}
	return spoken{}, fmt.Errorf("%s has said nothing here", name)
}

func newestFirst(posts []telegramsim.Post) []telegramsim.Post {
	out := make([]telegramsim.Post, 0, len(posts))
	for i := len(posts) - 1; i >= 0; i-- {
		out = append(out, posts[i])
	}
	return out
}

// marked reads a text with marks. Where there are any, those that Telegram finds
// by itself are put beside them, as a client would.
func (p *play) marked(s string) (string, []attache.Mark, error) {
	text, marks := readMarks(s)
	if len(marks) == 0 {
		return text, nil, nil
	}
	for i, m := range marks {
		if m.User == "" {
			continue
		}
		u, err := p.user(string(m.User))
		if err != nil {
			return "", nil, err
		}
		marks[i].User = attache.UserID(u.ID)
	}
	for _, e := range format.NewDetector().Detect(text) {
		free := true
		for _, m := range marks {
			free = free && (e.Offset >= m.Offset+m.Length || m.Offset >= e.Offset+e.Length)
		}
		if free {
			marks = append(marks, attache.Mark{Kind: e.Type, Offset: e.Offset, Length: e.Length})
		}
	}
	return text, marks, nil
}

// file fills a file that is sent: from the walk's files/, or with something short.
func (p *play) file(s speech) *telegramsim.File {
	if s.file == nil {
		return nil
	}
	f := *s.file
	f.MIME = mime.TypeByExtension(path.Ext(s.name))
	text, ok := p.walk.files[s.name]
	switch {
	case ok:
		f.Data = []byte(text)
	case f.Kind == "photo":
		f.Data, f.MIME = []byte("\x89PNG\r\n\x1a\n and a picture of "+s.name), "image/png"
	default:
		f.Data = []byte("what is in " + s.name)
	}
	return &f
}

func (p *play) edit(label, text string) error {
	m, ok := p.labels[label]
	if !ok {
		return fmt.Errorf("no message is named %s", label)
	}
	text, marks, err := p.marked(text)
	if err != nil {
		return err
	}
	return m.chat.Edit(m.id, telegramsim.Line{Text: text, Marks: marks})
}

func (p *play) remove(label string) error {
	m, ok := p.labels[label]
	if !ok {
		return fmt.Errorf("no message is named %s", label)
	}
	return m.chat.Remove(m.id)
}
