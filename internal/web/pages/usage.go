package pages

import (
	"fmt"
	"net/http"
	"time"

	"attache/internal/usage"
)

// usageJSON tells a window like get_usage_stats (interface § 4), and its pieces.
type usageJSON struct {
	Window string    `json:"window"`
	Since  time.Time `json:"since"`
	spentJSON
	Pieces []pieceJSON `json:"pieces"`
}

type pieceJSON struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	spentJSON
}

type spentJSON struct {
	Events int64       `json:"events"`
	Cost   any         `json:"cost"` // a number, or "unknown"
	Tokens tokensJSON  `json:"tokens"`
	Models []modelJSON `json:"models"`
}

type tokensJSON struct {
	In         int64 `json:"in"`
	Out        int64 `json:"out"`
	CacheRead  int64 `json:"cacheRead"`
	CacheWrite int64 `json:"cacheWrite"`
	Reasoning  int64 `json:"reasoning"`
}

type modelJSON struct {
	Model string `json:"model"`
	Calls int64  `json:"calls"`
	In    int64  `json:"in"`
	Out   int64  `json:"out"`
	Cost  any    `json:"cost"`
}

func spent(s usage.Stretch) spentJSON {
	out := spentJSON{Events: s.Events, Cost: orUnknown(s.Cost), Models: []modelJSON{},
		Tokens: tokensJSON{s.Tokens.In, s.Tokens.Out, s.Tokens.Cached, s.Tokens.CacheWrite, s.Tokens.Reasoning}}
	for _, m := range s.Models {
		out.Models = append(out.Models, modelJSON{m.Model, m.Calls, m.In, m.Out, orUnknown(m.Cost)})
	}
	return out
}

func orUnknown(cost *float64) any {
	if cost == nil {
		return "unknown"
	}
	return *cost
}

// usageData is the page as its template shows it.
type usageData struct {
	Window  string
	Windows []string
	Since   time.Time
	Sum     usage.Stretch
	Share   int // of the tokens read that came from the cache, in per cent
	Tokens  plot
	Costs   plot
}

func (p *Pages) usage(r *http.Request) (view, error) {
	name, edges, err := p.window(r)
	if err != nil {
		return view{}, err
	}
	pieces, err := p.o.Sources.Usage(r.Context(), edges)
	if err != nil {
		return view{}, err
	}
	sum := usage.SumUp(pieces...)
	told := usageJSON{Window: name, Since: edges[0], spentJSON: spent(sum), Pieces: make([]pieceJSON, len(pieces))}
	for i, s := range pieces {
		told.Pieces[i] = pieceJSON{edges[i], edges[i+1], spent(s)}
	}
	d := usageData{Window: name, Windows: Windows(), Since: edges[0], Sum: sum, Share: share(sum.Tokens)}
	labels := make([]label, len(pieces))
	for i := range pieces {
		labels[i] = labelled(name, edges[i])
	}
	d.Tokens = plotTokens(pieces, labels)
	d.Costs = plotCosts(pieces, labels)
	return view{Template: "usage", Title: "Usage", Here: "/usage", Data: d, JSON: told}, nil
}

func share(t usage.Tokens) int {
	if t.In == 0 {
		return 0
	}
	return int(100 * t.Cached / t.In)
}

// label is the name of a bar: a short one below it and a long one beside its values.
type label struct{ Short, Long string }

func labelled(window string, from time.Time) label {
	if window == "24h" {
		return label{from.Format("15"), from.Format("Mon 15:04")}
	}
	return label{from.Format("2 Jan"), from.Format("Mon 2 January")}
}

func plotTokens(pieces []usage.Stretch, labels []label) plot {
	bars := make([]bar, len(pieces))
	for i, s := range pieces {
		fresh := max(s.Tokens.In-s.Tokens.Cached, 0)
		bars[i] = bar{label: labels[i], parts: []part{{"cached", float64(s.Tokens.Cached)}, {"fresh", float64(fresh)}, {"out", float64(s.Tokens.Out)}},
			what: fmt.Sprintf("%s in, %s of them cached, %s out", digits(s.Tokens.In), digits(s.Tokens.Cached), digits(s.Tokens.Out))}
		if s.Silent > 0 {
			bars[i].unknown = true
			bars[i].what += fmt.Sprintf("; %d calls reported no tokens", s.Silent)
		}
	}
	return draw(bars)
}

func plotCosts(pieces []usage.Stretch, labels []label) plot {
	bars := make([]bar, len(pieces))
	for i, s := range pieces {
		bars[i] = bar{label: labels[i], parts: []part{{"cost", s.Known}}, what: money(s.Cost)}
		if s.Cost == nil {
			bars[i].unknown = true
			bars[i].what = fmt.Sprintf("unknown: %d calls without a price, %s for the others", s.Priceless, money(&s.Known))
		}
	}
	return draw(bars)
}
