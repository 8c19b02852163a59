package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Templates gives the shared templates: "sheet" tells of a [Turn] and "carried" says
// in a line what one carried. A page clones nothing; each call parses anew.
func Templates() (*template.Template, error) {
	return template.New("web").Funcs(template.FuncMap{
		"chars": chars, "count": count, "took": took, "cost": cost, "shares": shares, "size": size,
		"carried": carried, "attached": attached, "spent": spent, "pretty": pretty, "call": call,
		"hold": func(links []Link) []Link { return split(links, true) },
		"left": func(links []Link) []Link { return split(links, false) },
	}).ParseFS(files, "sheet.html")
}

// size counts characters, as every `chars` of a brain does.
func size(s string) int { return utf8.RuneCountInString(s) }

// chars writes a number, an int or int64, with its thousands set apart.
func chars(n any) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

// count writes a number and its thing: "1 call", "2 calls".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return chars(n) + " " + thing + "s"
}

// took writes a duration as a person would say it.
func took(d time.Duration) string {
	switch {
	case d <= 0:
		return "–"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// cost writes an amount; nil is unknown.
func cost(c *float64) string {
	if c == nil {
		return "unknown"
	}
	return strconv.FormatFloat(*c, 'g', 3, 64)
}

// attached gives the links that made it into the prompt.
func attached(links []Link) []Link { return split(links, true) }

func split(links []Link, in bool) []Link {
	var out []Link
	for _, l := range links {
		if (l.Status == "attached") == in {
			out = append(out, l)
		}
	}
	return out
}

// carried says in a line what a turn carried: "ticket T-481 and policy".
func carried(t Turn) string {
	var names []string
	for _, l := range attached(t.Links) {
		name := l.Context
		if l.Entity != "" {
			name += " " + l.Entity
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "nothing"
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}

// spending sums up a turn's calls.
type spending struct {
	In, Cached, Out int64
	Share           int // of In that was read from the cache, in per cent
	Reported        bool
	Cost            *float64
}

// spent adds up; one call without a price makes the sum unknown.
func spent(calls []Call) spending {
	var s spending
	sum, known := 0.0, len(calls) > 0
	for _, c := range calls {
		s.In, s.Cached, s.Out = s.In+c.In, s.Cached+c.Cached, s.Out+c.Out
		s.Reported = s.Reported || c.Reported
		if c.Cost == nil {
			known = false
		} else {
			sum += *c.Cost
		}
	}
	if known {
		s.Cost = &sum
	}
	if s.In > 0 {
		s.Share = int(100 * s.Cached / s.In)
	}
	return s
}

// share is one piece of a bar, in thousandths of its length.
type share struct {
	Start, Length int
	Kind          string // a class of the style sheet
	What          string
	Chars         int
}

// shares lays the messages of a prompt along a bar, by their sizes. A message of
// any size stays visible.
func shares(prompt []Message) []share {
	total := 0
	for _, m := range prompt {
		total += size(m.Text)
	}
	var out []share
	at := 0
	for _, m := range prompt {
		n := size(m.Text)
		length := 1000 * n / max(total, 1)
		out = append(out, share{at, max(length-4, 3), m.kind(), m.What, n})
		at += length
	}
	return out
}

// kind gives the class of a message: its role, or "tail" for what was attached.
func (m Message) kind() string {
	if m.What == "tail" {
		return "tail"
	}
	return m.Role
}

// pretty indents JSON and leaves anything else as it is.
func pretty(s string) string {
	var out bytes.Buffer
	if json.Indent(&out, []byte(s), "", "  ") != nil {
		return s
	}
	return out.String()
}

// call gives a class for a call's or post's state: good, bad or open.
func call(status string) string {
	switch status {
	case "ok", "done", "sent", "answered", "attached":
		return "good"
	case "running", "waiting", "stub", "silent", "ignored", "observed", "stopped":
		return "open"
	}
	return "bad"
}
