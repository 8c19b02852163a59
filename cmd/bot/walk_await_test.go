package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"attache/internal/telegramsim"
)

// step lets an answer say some more words.
func (p *play) step(words []string) error {
	p.model.mu.Lock()
	g := p.model.gates[words[1]]
	p.model.mu.Unlock()
	n, err := strconv.Atoi(words[2])
	if g == nil || err != nil {
		return fmt.Errorf("no answer is stepped by %s", words[1])
	}
	for range n {
		select {
		case g.steps <- struct{}{}:
		case <-time.After(patience):
			return errors.New("the answer has no more words, or nobody asked for it")
		}
	}
	return nil
}

func (p *play) awaitPosts(words []string) error {
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	at, err := p.place(words[3], words[2] == "to")
	if err != nil {
		return err
	}
	return p.seen(func() bool { return len(at.chat.Posts(at.thread)) >= n }, func() string {
		return fmt.Sprintf("%d posts are there", len(at.chat.Posts(at.thread)))
	})
}

// seen waits for a change of the simulator's world.
func (p *play) seen(is func() bool, instead func() string) error {
	ctx, cancel := context.WithTimeout(p.t.Context(), patience)
	defer cancel()
	if p.sim.Wait(ctx, is) != nil {
		return fmt.Errorf("%s after %s", instead(), patience)
	}
	return nil
}

func (p *play) awaitDraft(words []string) error {
	at, err := p.place(words[1], true)
	if err != nil {
		return err
	}
	has := func(d telegramsim.Post) bool { return strings.Contains(d.Words(), words[2]) }
	return p.seen(func() bool { return slices.ContainsFunc(at.chat.Drafts(), has) }, func() string {
		return fmt.Sprintf("the drafts are %q", wordsOf(at.chat.Drafts()))
	})
}

func wordsOf(posts []telegramsim.Post) (words []string) {
	for _, p := range posts {
		words = append(words, p.Words())
	}
	return words
}

func (p *play) awaitRequest(words []string) error {
	n, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	return p.until("the model was not asked so often", func() (bool, error) { return len(p.model.Requests()) >= n, nil })
}

func (p *play) awaitCall(words []string) error {
	return p.seen(func() bool { return len(p.sim.Calls(telegramsim.Filter{Method: words[1]})) > 0 }, func() string {
		return "no such call came"
	})
}

func (p *play) awaitLog(words []string) error {
	return p.until("the log does not say it", func() (bool, error) { return strings.Contains(p.log(), words[1]), nil })
}
