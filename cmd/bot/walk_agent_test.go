package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"attache/internal/cliagent/agenttest"
	"attache/internal/cliagent/sent"
)

// agentForms script the agent that a role may be run by (engine: { cli: … }): its
// steps are taken in their order, wherever the lines stand, and a turn takes as many
// as it needs to end.
func agentForms() []form {
	step := func(shape, do, needs string) form {
		return staged(shaped(shape, "agent "+do, needs, func(w *walk, c clause) (func(*play) error, error) {
			s := agenttest.Step{Do: do, Text: c.body}
			if do == "calls" {
				s.Name, s.Text, _ = strings.Cut(c.body, " ")
			}
			w.agent = append(w.agent, s)
			return func(*play) error { return nil }, nil
		}))
	}
	return []form{
		step("agent says: words", "says", "the answer"),
		step(`agent calls: notification_send {"text":"hi"}`, "calls", "the tool and its arguments"),
		step("agent compacts", "compacts", ""),
		step("agent forgets", "forgets", ""),
		step("agent writes: warming up", "writes", "the line"),
		step("agent dies: its last words", "dies", "its last words"),
		step("agent fails: out of credit", "fails", "what it says"),
		step("agent shows: the first words", "shows", "the words"),
		step("agent hangs", "hangs", ""),
	}
}

// filled puts the addresses of the walk's model and agent into a file.
func (p *play) filled(text string) string {
	text = strings.ReplaceAll(text, "$MODEL", p.model.url)
	if strings.Contains(text, "$AGENT") && p.agent == "" {
		p.agent = p.t.TempDir()
		agenttest.Install(p.t, p.agent, p.walk.agent...)
	}
	return strings.ReplaceAll(text, "$AGENT", p.agent+"/agent")
}

// orphan notes the agent's process that lived when the program was killed: Linux kills
// it too, before or after it has seen the end of its input, and others do not.
func (p *play) orphan() {
	if all, _ := filepath.Glob(filepath.Join(p.agent, "process-*")); p.agent != "" {
		p.orphans = append(p.orphans, strconv.Itoa(len(all)))
	}
}

// told tells what the scripted agent was told: by which of its processes, and of each
// turn what it was told of contexts, with its words, and the input.
func (p *play) told() string {
	if p.agent == "" {
		return ""
	}
	var out strings.Builder
	heard := agenttest.Heard(p.t, p.agent)
	// One may end while the next one begins.
	slices.SortStableFunc(heard, func(a, b string) int {
		number := func(s string) string { n, _, _ := strings.Cut(s, " "); return n }
		return cmp.Or(cmp.Compare(len(number(a)), len(number(b))), cmp.Compare(number(a), number(b)))
	})
	for _, l := range heard {
		process, raw, _ := strings.Cut(l, " ")
		var m struct {
			Type    string    `json:"type"`
			Session *string   `json:"session"`
			ID      string    `json:"id"`
			Context []sent.Op `json:"context"`
			Before  string    `json:"snapshot"`
			Input   string    `json:"input"`
			Content string    `json:"content"`
			Tools   []struct {
				Name string `json:"name"`
			} `json:"tools"`
		}
		_ = json.Unmarshal([]byte(raw), &m) // what is no message is printed as nothing known
		switch m.Type {
		case "start":
			what := "begins a session"
			if m.Session != nil {
				what = "goes on with " + *m.Session
			}
			fmt.Fprintf(&out, "process %s %s\n", process, what)
		case "turn":
			fmt.Fprintf(&out, "turn %s", m.ID)
			for i, t := range m.Tools {
				fmt.Fprintf(&out, "%s%s", map[bool]string{true: " with tools ", false: ", "}[i == 0], t.Name)
			}
			out.WriteByte('\n')
			p.operations(&out, m.Context)
			if missed, _, ok := strings.Cut(m.Before, "<turn_context"); ok && missed != "" {
				fmt.Fprintf(&out, "  %s\n", hang(p.plain(strings.TrimSpace(missed))))
			}
			fmt.Fprintf(&out, "  input: %s\n", hang(hang(p.plain(m.Input))))
		case "tool_result":
			fmt.Fprintf(&out, "result of %s\n", m.ID)
			p.operations(&out, m.Context)
			fmt.Fprintf(&out, "  %s\n", hang(p.plain(m.Content)))
		case "":
			if slices.Contains(p.orphans, process) {
				continue
			}
			fmt.Fprintf(&out, "process %s ends\n", process)
		}
	}
	return out.String()
}

func (p *play) operations(out *strings.Builder, ops []sent.Op) {
	for _, o := range ops {
		name := o.Name
		if o.Entity != "" {
			name += "@" + o.Entity
		}
		fmt.Fprintf(out, "  %s %s: %s\n", o.Op, name, hang(hang(p.plain(o.Text))))
	}
}
