package pages

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/gateway/carried"
)

// contextsData is System → Context as its template shows it.
type contextsData struct {
	Window   string
	Windows  []string
	Since    time.Time
	Use      carried.Window
	Findings []Finding // of the doctor, that are about feature contexts
	Wrong    string    // why there are none of them; empty: they are all
}

// contextsJSON is its twin: what agent_context answers, and the window.
type contextsJSON struct {
	Name  string    `json:"window"`
	Since time.Time `json:"since"`
	carried.Window
}

// contexts is System → Context (text 1 § 5.1, row G8).
func (p *Pages) contexts(r *http.Request) (view, error) {
	name, edges, err := p.window(r)
	if err != nil {
		return view{}, err
	}
	use, err := p.o.Sources.Contexts(r.Context(), edges)
	if err != nil {
		return view{}, err
	}
	d := contextsData{Window: name, Windows: Windows(), Since: edges[0], Use: use}
	found, _, err := p.o.Sources.Findings(r.Context(), false)
	if err != nil {
		d.Wrong = p.missing(r, err)
	}
	for _, f := range found {
		if f.Check == "Feature contexts" {
			d.Findings = append(d.Findings, f)
		}
	}
	return view{Template: "contexts", Title: "System → Context", Here: "/system/context", Data: d, JSON: contextsJSON{name, edges[0], use}}, nil
}

// linked is a link with how often it brought a context.
type linked struct {
	Link  attache.Link
	Times int
}

// linksOf gives links in their order, the strongest first.
func linksOf(links map[attache.Link]int) []linked {
	var out []linked
	for _, l := range slices.SortedFunc(maps.Keys(links), func(a, b attache.Link) int { return a.Rank() - b.Rank() }) {
		out = append(out, linked{l, links[l]})
	}
	return out
}

// cure says what can be done about a knob that kept a context out.
func cure(f carried.Stubbed) string {
	if strings.HasPrefix(f.Knob, "chars of ") {
		return "its instructions alone are longer than that: raise it, or trim the context"
	}
	return "raise it, or trim what the turns carry"
}
