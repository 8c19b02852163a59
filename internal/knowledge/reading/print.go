package reading

import (
	"encoding/json"
	"fmt"
	"strings"
)

// String gives the list as decisions § 8 print it: of each file a line with its path,
// its reason and its tokens, an empty line and its text; the total; a line for each
// file that was left out.
func (l *List) String() string {
	var b strings.Builder
	for _, i := range l.Items {
		fmt.Fprintf(&b, "--- %s (%s, %d tokens)\n\n%s", i.Path, i.Reason(), i.Tokens, i.Text)
	}
	fmt.Fprintf(&b, "Total: %d tokens\n", l.Total)
	for _, left := range l.Left {
		fmt.Fprintf(&b, "Excluded: %s (%s)\n", left.Path, left.Reason())
	}
	return b.String()
}

// Reason is why it was left out, as it is printed.
func (l Left) Reason() string {
	s := string(l.Why)
	if l.Detail != "" {
		s += ": " + l.Detail
	}
	if l.Tokens > 0 {
		s += fmt.Sprintf(", %d tokens", l.Tokens)
	}
	return s
}

// Under puts the name of a pack before every path and id, for a reader who knows several
// packs. A reference that leads to no file stays as it is written.
func (l *List) Under(pack string) {
	for i := range l.Items {
		item := &l.Items[i]
		item.Path = pack + "/" + item.Path
		if item.ID != "" {
			item.ID = strings.ToLower(pack) + "/" + item.ID
		}
	}
	for i, left := range l.Left {
		if left.Why != whyDangling && left.Why != whyOutside {
			l.Left[i].Path = pack + "/" + left.Path
		}
	}
}

// Discreet is the list for a model. The names of private documents are left out: they
// are counted, for a reader who may not even know of them. Of a long list of what was
// left out the first are named and the rest counted.
func (l *List) Discreet() *List {
	out, private := *l, 0
	out.Left = nil
	for _, left := range l.Left {
		if left.Why == whyPrivate {
			private++
		} else {
			out.Left = append(out.Left, left)
		}
	}
	if more := len(out.Left) - mostLeft; more > 0 {
		out.Left = append(out.Left[:mostLeft:mostLeft], Left{Path: counted(more) + " more", Why: out.Left[mostLeft].Why, Detail: "and other reasons"})
	}
	if private > 0 {
		out.Left = append(out.Left, Left{Path: counted(private), Why: whyPrivate})
	}
	return &out
}

// mostLeft is how many files that were left out a model is told of by name.
const mostLeft = 40

func counted(n int) string {
	if n == 1 {
		return "1 document"
	}
	return fmt.Sprintf("%d documents", n)
}

// MarshalJSON gives the list for programs: its files in order, the total, whether
// anything had no room, and what was left out.
func (l *List) MarshalJSON() ([]byte, error) {
	type file struct {
		Path   string `json:"path"`
		ID     string `json:"id,omitempty"`
		Reason string `json:"reason"`
		Tokens int    `json:"tokens"`
		Text   string `json:"text"`
	}
	type left struct {
		Path   string `json:"path"`
		Reason Why    `json:"reason"`
		Detail string `json:"detail,omitempty"`
		Tokens int    `json:"tokens,omitempty"`
	}
	out := struct {
		ID        string   `json:"id"`
		Files     []file   `json:"files"`
		Total     int      `json:"total"`
		Truncated bool     `json:"truncated"`
		Excluded  []left   `json:"excluded"`
		Warnings  []string `json:"warnings,omitempty"`
	}{ID: l.ID, Files: []file{}, Excluded: []left{}, Total: l.Total, Warnings: l.Warnings}
	for _, i := range l.Items {
		out.Files = append(out.Files, file{i.Path, i.ID, i.Reason(), i.Tokens, i.Text})
	}
	for _, x := range l.Left {
		out.Truncated = out.Truncated || x.Why == whyBudget
		out.Excluded = append(out.Excluded, left{x.Path, x.Why, x.Detail, x.Tokens})
	}
	return json.Marshal(out)
}
