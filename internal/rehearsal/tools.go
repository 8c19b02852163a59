package rehearsal

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// tool is a tool the request offers, with its arguments in the schema's order.
type tool struct {
	Name string
	Args []arg
}

type arg struct {
	Name     string
	Required bool
	Text     bool // takes a string
}

// readTool reads the arguments of a tool's schema. Their order matters, since a
// message's free words go to the first one, so it is read token by token.
func readTool(name string, schema json.RawMessage) tool {
	t := tool{Name: name}
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return t
	}
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return t
	}
	for d.More() {
		key, err := d.Token()
		var value struct {
			Type any `json:"type"`
		}
		if err != nil || d.Decode(&value) != nil {
			return t
		}
		kinds, _ := json.Marshal(value.Type)
		t.Args = append(t.Args, arg{
			Name: key.(string), Required: slices.Contains(s.Required, key.(string)),
			Text: value.Type == nil || bytes.Contains(kinds, []byte(`"string"`)),
		})
	}
	return t
}

// asked is a wish for a tool, found in a message.
type asked struct {
	Tool    string
	Known   bool
	Missing []string // required arguments that the message does not give
	Args    string   // JSON, when nothing is missing
}

// wishes finds "use notification_send to say hello" and "call context_open
// policy". "Do not use …" and "never call …" are no wishes.
type wishes struct{ wish, never, pair, link *regexp.Regexp }

func newWishes() wishes {
	return wishes{
		wish:  regexp.MustCompile("(?is)\\b(?:use|call|run)\\s+(?:the\\s+)?(?:tool\\s+)?[`\"']?([a-z][a-z0-9_]*)[`\"']?(?:\\s+tool\\b)?[,:]?(.*)"),
		never: regexp.MustCompile(`(?i)\b(?:not|never|don['’]t|cannot|can['’]t|without)\s+(?:\w+\s+)?$`),
		pair:  regexp.MustCompile(`(\w+)=("[^"]*"|\S+)`),
		link:  regexp.MustCompile(`(?i)^(?:to\s+say|and\s+say|saying|that\s+says|with(?:\s+the\s+text)?|for|on)(?:\s+|:\s*|$)`),
	}
}

// find gives the first wish in a text. A word without an underscore counts only if
// it is the name of a tool: people also "use paper".
// With line set, free words end with their line.
func (w wishes) find(text string, tools []tool, line bool) *asked {
	for len(text) > 0 {
		at := w.wish.FindStringSubmatchIndex(text)
		if at == nil {
			return nil
		}
		name, rest := text[at[2]:at[3]], text[at[4]:at[5]]
		i := slices.IndexFunc(tools, func(t tool) bool { return t.Name == name })
		if (i >= 0 || strings.Contains(name, "_")) && !w.never.MatchString(text[:at[0]]) {
			if i < 0 {
				return &asked{Tool: name}
			}
			return w.fill(tools[i], rest, line)
		}
		text = rest
	}
	return nil
}

// fill makes the arguments of a call from the words behind a tool's name: a JSON
// object as it stands, else name=value pairs, and what remains is the first
// argument that takes text.
func (w wishes) fill(t tool, rest string, line bool) *asked {
	a := &asked{Tool: t.Name, Known: true}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "{") {
		var raw json.RawMessage
		var whole bytes.Buffer
		if json.NewDecoder(strings.NewReader(rest)).Decode(&raw) == nil && json.Compact(&whole, raw) == nil {
			a.Args = whole.String()
			return a
		}
	}
	if line {
		rest, _, _ = strings.Cut(rest, "\n")
	}
	given := map[string]string{}
	rest = w.pair.ReplaceAllStringFunc(rest, func(pair string) string {
		name, value, _ := strings.Cut(pair, "=")
		if !slices.ContainsFunc(t.Args, func(x arg) bool { return x.Name == name }) {
			return pair
		}
		given[name] = strings.Trim(value, `"`)
		return ""
	})
	rest = unquote(w.link.ReplaceAllString(strings.TrimSpace(rest), ""))
	if first := t.firstText(given); first != "" && rest != "" {
		if slices.ContainsFunc(t.Args, func(x arg) bool { return x.Name == "entity" }) { // the word behind a context's name is its key
			name, key, two := strings.Cut(rest, " ")
			if two && given["entity"] == "" {
				rest, given["entity"] = name, strings.TrimSpace(key)
			}
		}
		given[first] = rest
	}
	a.Args, a.Missing = t.write(given)
	return a
}

// unquote gives what stands between the quotation marks a text begins with; a text
// that begins without one is given whole.
func unquote(s string) string {
	for _, pair := range []string{`""`, "“”", "''", "``", "«»"} {
		marks := []rune(pair)
		if inner, ok := strings.CutPrefix(s, string(marks[0])); ok {
			if end := strings.LastIndex(inner, string(marks[1])); end >= 0 {
				return inner[:end]
			}
		}
	}
	return s
}

// firstText gives the argument that free words go to: the first required one that
// takes text, else the first one at all. Words beside a name=value may be politeness,
// so they are nothing that could be left out.
func (t tool) firstText(given map[string]string) string {
	first := ""
	for _, x := range t.Args {
		if _, taken := given[x.Name]; taken || !x.Text {
			continue
		}
		if x.Required {
			return x.Name
		}
		if first == "" && len(given) == 0 {
			first = x.Name
		}
	}
	return first
}

// write gives the arguments as JSON in the schema's order, and those missing.
func (t tool) write(given map[string]string) (args string, missing []string) {
	var fields []string
	for _, x := range t.Args {
		value, ok := given[x.Name]
		if !ok {
			if x.Required {
				missing = append(missing, x.Name)
			}
			continue
		}
		name, _ := json.Marshal(x.Name)
		raw, _ := json.Marshal(value)
		if !x.Text && json.Valid([]byte(value)) {
			raw = []byte(value)
		}
		fields = append(fields, string(name)+":"+string(raw))
	}
	return "{" + strings.Join(fields, ",") + "}", missing
}
