package demo

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"attache/internal/telegramsim"
)

// terminal is a person at a terminal, who speaks as one person in one chat at a time.
type terminal struct {
	*World
	in         io.Reader
	out        io.Writer
	who, where string
	shown      map[message]bool // posts that were printed
}

// Talk reads lines until the input or ctx ends: words are said, @ann and
// #desk/billing change who speaks and where. It prints what the bot answers.
func (w *World) Talk(ctx context.Context, in io.Reader, out io.Writer) {
	t := &terminal{World: w, in: in, out: out, who: "ann", where: "dm", shown: map[message]bool{}}
	t.talk(ctx)
}

func (t *terminal) talk(ctx context.Context) {
	fmt.Fprintf(t.out, welcome, t.names(), t.places())
	t.prompt()
	lines := make(chan string)
	go func() {
		defer close(lines)
		in := bufio.NewScanner(t.in)
		for in.Scan() {
			select {
			case lines <- in.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(t.out)
			return
		case line, ok := <-lines:
			if !ok || strings.TrimSpace(line) == "/quit" {
				fmt.Fprintln(t.out)
				return
			}
			t.line(ctx, strings.TrimSpace(line))
			t.prompt()
		}
	}
}

func (t *terminal) prompt() { fmt.Fprintf(t.out, "%s in %s> ", t.who, t.where) }

// line does one line of the person at the terminal.
func (t *terminal) line(ctx context.Context, line string) {
	if line == "" {
		return
	}
	if name, ok := strings.CutPrefix(line, "@"); ok && !strings.Contains(name, " ") {
		if t.Person(name) == nil {
			fmt.Fprintf(t.out, "  nobody here is called %s; there are %s\n", name, t.names())
			return
		}
		t.who = name
		return
	}
	if name, ok := strings.CutPrefix(line, "#"); ok && !strings.Contains(name, " ") {
		if _, _, ok := t.Find(t.who, name); !ok {
			fmt.Fprintf(t.out, "  there is no chat %s; there are %s\n", name, t.places())
			return
		}
		t.where = name
		return
	}
	c, thread, _ := t.Find(t.who, t.where)
	if _, err := c.Room.Send(telegramsim.Line{From: t.Person(t.who).User, Text: line, Thread: thread}); err != nil {
		fmt.Fprintln(t.out, "  Telegram would not take that:", err)
		return
	}
	t.await(ctx, c.Room)
}

// await prints the bot's next post in the chat, as soon as it comes.
func (t *terminal) await(ctx context.Context, chat *telegramsim.Chat) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	unseen := func(p telegramsim.Post) bool { return !t.shown[message{chat.ID, p.ID}] }
	err := t.Sim.Wait(ctx, func() bool { return slices.ContainsFunc(chat.Posts(), unseen) })
	if err != nil {
		fmt.Fprintln(t.out, "  nothing came back within 20 s; the log above may say why")
		return
	}
	for _, p := range chat.Posts() {
		if unseen(p) {
			t.shown[message{chat.ID, p.ID}] = true
			fmt.Fprintf(t.out, "  Nova: %s\n", strings.ReplaceAll(p.Words(), "\n", "\n        "))
		}
	}
}

const welcome = `This is Attaché on a small Telegram of its own: everything but Telegram is real.
Without OPENAI_API_KEY a rehearsal model answers: it tells what it was given.

  write something   say it
  @NAME             speak as somebody else: %s
  #CHAT             speak somewhere else: %s
  /quit             leave

`
