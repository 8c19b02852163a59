package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"attache/internal/model/modeltest"
)

// requests tells what the model was asked: what a request shares with an earlier
// one byte for byte is said so, and the first message is left to the section
// prompt.
func (p *play) requests() string {
	var out strings.Builder
	all := p.model.Requests()
	for i, q := range all {
		fmt.Fprintf(&out, "request %d to %s", q.N, q.Model)
		if q.Audio != nil {
			fmt.Fprintf(&out, ": the recording %s\n", q.File)
			continue
		}
		if q.Speak != "" {
			fmt.Fprintf(&out, " to be said aloud: %s\n", q.Speak)
			continue
		}
		if len(q.Tools) > 0 {
			fmt.Fprintf(&out, " with tools %s", strings.Join(q.Tools, ", "))
		}
		out.WriteByte('\n')
		from := 1
		if old, n := shared(all[:i], q); n > 0 {
			if n == len(q.Messages) && bytes.Equal(old.Raw, q.Raw) {
				fmt.Fprintf(&out, "  = request %d, byte for byte\n", old.N)
				continue
			}
			fmt.Fprintf(&out, "  = request %d up to its message %d, byte for byte\n", old.N, n)
			from = n
		}
		for _, m := range q.Messages[min(from, len(q.Messages)):] {
			fmt.Fprintf(&out, "  %s: %s\n", m.Role, hang(hang(p.message(m))))
		}
	}
	return out.String()
}

// shared finds the earlier request that a request shares most messages with, from
// the first one on, and how many. A beginning without an input is none, and it ends
// with what somebody said: snapshots are alike when they are of the same second.
func shared(earlier []modeltest.Request, q modeltest.Request) (best modeltest.Request, most int) {
	for _, old := range earlier {
		n, said := 0, 0
		for n < min(len(old.Messages), len(q.Messages)) && bytes.Equal(old.Messages[n].Raw, q.Messages[n].Raw) {
			n++
			if q.Messages[n-1].Role != "system" {
				said = n
			}
		}
		if said > 0 && said >= most {
			best, most = old, said
		}
	}
	return best, most
}

// message prints a message of a request.
func (p *play) message(m modeltest.Message) string {
	parts := []string{}
	if text := m.Text(); text != "" {
		parts = append(parts, p.plain(text))
	}
	var list []struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(m.Content, &list) == nil {
		for _, part := range list {
			if part.Type != "text" {
				parts = append(parts, "["+part.Type+"]")
			}
		}
	}
	for _, c := range m.ToolCalls {
		parts = append(parts, fmt.Sprintf("calls %s %s", c.Function.Name, c.Function.Arguments))
	}
	return strings.Join(parts, "\n")
}

// prompt gives the first message of each request that differs from the one before.
// The platform's own words are internal/prompt's and tested there: of them only the
// headings stand here.
func (p *play) prompt() string {
	var out strings.Builder
	last := ""
	for _, q := range p.model.Requests() {
		if len(q.Messages) == 0 || string(q.Messages[0].Raw) == last {
			continue
		}
		last = string(q.Messages[0].Raw)
		fmt.Fprintf(&out, "%s of request %d:\n", q.Messages[0].Role, q.N)
		for section := range strings.SplitSeq("\n"+q.Messages[0].Text(), "\n# ") {
			heading, _, _ := strings.Cut(section, "\n")
			switch heading {
			case "":
			case "How you are run", "Protocol", "Sessions":
				fmt.Fprintf(&out, "# %s …\n", heading)
			default:
				fmt.Fprintf(&out, "# %s\n", strings.TrimRight(p.plain(section), "\n"))
			}
		}
	}
	return out.String()
}
