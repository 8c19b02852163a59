package rehearsal

import (
	"strconv"
	"strings"
)

// answer decides between the few things the rehearsal model can do: call the tool
// a message names, tell what tools answered, or tell what it was given. It calls at
// most one tool a turn, so it cannot loop.
func (m *Model) answer(req request) reply {
	s := read(req)
	if len(s.Results) > 0 {
		return m.say("results", s)
	}
	if s.Refused != "" {
		return m.say("refused", s)
	}
	wish := m.wish(s)
	switch {
	case wish == nil:
		return m.say("seen", s)
	case !wish.Known:
		return m.say("unknown", struct {
			seen
			Wish *asked
		}{s, wish})
	case len(wish.Missing) > 0:
		return m.say("missing", struct {
			seen
			Wish *asked
		}{s, wish})
	}
	return reply{Call: &toolCall{
		ID: "call_" + strconv.Itoa(len(req.Messages)), Type: "function",
		Function: toolCallFunction{wish.Tool, wish.Args},
	}}
}

// wish gives the first tool that the turn's input asks for.
func (m *Model) wish(s seen) *asked {
	if s.Plain != "" {
		return m.wishes.find(s.Plain, s.Tools, true)
	}
	for _, l := range s.Lines {
		if wish := m.wishes.find(l.Text, s.Tools, false); wish != nil {
			return wish
		}
	}
	return nil
}

// People gives everyone the turn shows, once each, in the order of their first
// words.
func (s seen) People() []spoken {
	var all []spoken
	known := map[string]bool{}
	for _, p := range append(append([]spoken{}, s.Room...), s.Lines...) {
		if !known[p.From] {
			known[p.From] = true
			all = append(all, p)
		}
	}
	return all
}

// Run reports whether the turn is the work of a beat, hook or scenario.
func (s seen) Run() bool {
	switch s.Kind {
	case "heartbeat", "hook", "scenario", "step":
		return true
	}
	return false
}

// Has reports whether a tool is offered.
func (s seen) Has(name string) bool {
	for _, t := range s.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// Try gives words that call one of the tools, with what it must be given; contexts
// have words of their own. "" when no tool wants anything.
func (s seen) Try() string {
	for _, t := range s.Tools {
		words := "use " + t.Name
		for _, x := range t.Args {
			if x.Required {
				words += " " + x.Name + "=…"
			}
		}
		if strings.HasSuffix(words, "=…") && t.Name != "context_open" {
			return words
		}
	}
	return ""
}

// Keyless gives the names of views that show nothing for want of a key.
func (s seen) Keyless() []string {
	var names []string
	for _, b := range s.Contexts {
		for _, x := range b.Sections {
			if strings.HasPrefix(x.Text, "no key") {
				names = append(names, x.Name+" of "+b.Name)
			}
		}
	}
	return names
}

// say fills a template. The templates are ours and read only fields and methods
// of seen, so an error is a mistake of this package and the tests meet it.
func (m *Model) say(name string, data any) reply {
	var b strings.Builder
	if err := m.words.ExecuteTemplate(&b, name, data); err != nil {
		return reply{Text: "The rehearsal model has a mistake in its own words: " + err.Error()}
	}
	return reply{Text: tidy(b.String())}
}

// tidy leaves at most one blank line between two others.
func tidy(s string) string {
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(s), "\n") {
		line = strings.TrimRight(line, " ")
		if line == "" && len(lines) > 0 && lines[len(lines)-1] == "" {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// codeSpan shows a name as code. A mark that would end the span is replaced.
func codeSpan(s string) string { return "`" + strings.ReplaceAll(oneLine(s), "`", "'") + "`" }

// cut shortens a text to n characters at a word's end where there is one.
func cut(n int, s string) string {
	all := []rune(oneLine(s))
	if len(all) <= n {
		return string(all)
	}
	head := string(all[:n-1])
	if i := strings.LastIndexByte(head, ' '); i > n/2 {
		head = head[:i]
	}
	return strings.TrimRight(head, " ,.;:") + "…"
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
