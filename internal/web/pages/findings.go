package pages

import (
	"net/http"
	"strings"
	"time"
)

// Finding is one thing that the doctor found (interface § 1).
type Finding struct {
	Level string `json:"level"` // fail, warn, note or skipped
	Check string `json:"check"`
	File  string `json:"file"`
	Line  int    `json:"line"`
	Col   int    `json:"col"`
	What  string `json:"what"`
	Do    string `json:"do"`
}

// counted tells how many findings there are of each level.
type counted struct{ Fail, Warn, Note, Skipped int }

func count(found []Finding) (c counted) {
	for _, f := range found {
		switch f.Level {
		case "fail":
			c.Fail++
		case "warn":
			c.Warn++
		case "skipped":
			c.Skipped++
		default:
			c.Note++
		}
	}
	return c
}

// heading is the findings of one check, in the order in which they were found.
type heading struct {
	Check    string
	Findings []Finding
}

func headings(found []Finding) (out []heading) {
	at := map[string]int{}
	for _, f := range found {
		i, ok := at[f.Check]
		if !ok {
			i = len(out)
			at[f.Check] = i
			out = append(out, heading{Check: f.Check})
		}
		out[i].Findings = append(out[i].Findings, f)
	}
	return out
}

// doctorJSON is what `attache doctor --json` prints.
type doctorJSON struct {
	OK       bool      `json:"ok"`
	Findings []Finding `json:"findings"`
}

func (p *Pages) doctor(r *http.Request) (view, error) {
	fresh := r.URL.Query().Has("fresh") || strings.HasPrefix(r.URL.Path, "/api/")
	found, at, err := p.o.Sources.Findings(r.Context(), fresh)
	if err != nil && !fresh {
		found, at, err = p.o.Sources.Findings(r.Context(), true)
	}
	if err != nil {
		return view{}, err
	}
	n := count(found)
	return view{Template: "doctor", Title: "Doctor", Here: "/doctor",
		Data: struct {
			Count    counted
			Headings []heading
			At       time.Time
		}{n, headings(found), at},
		JSON: doctorJSON{n.Fail == 0, append([]Finding{}, found...)}}, nil
}

// approvals says what there is: calls that need an approval are refused in this
// version, so that nothing waits.
func (p *Pages) approvals(*http.Request) (view, error) {
	return view{Template: "approvals", Title: "Approvals", Here: "/approvals", JSON: struct {
		Kept      bool  `json:"kept"`
		Approvals []any `json:"approvals"`
	}{false, []any{}}}, nil
}
