package pages

import (
	"net/http"

	"attache/gateway/ledger"
	"attache/internal/usage"
)

// overviewData is the first page. Each part stands for itself: one that cannot be
// read says so and hides nothing of the others.
type overviewData struct {
	Turns    []Turn
	NoTurns  string // why the turns are missing
	Spent    usage.Stretch
	Share    int
	NoSpent  string
	Count    counted
	First    []Finding // the gravest
	NoDoctor string
}

func (p *Pages) overview(r *http.Request) (view, error) {
	ctx := r.Context()
	var d overviewData
	var err error
	if d.Turns, _, err = p.o.Sources.Turns(ctx, ledger.Query{Limit: 8}); err != nil {
		d.NoTurns = p.missing(r, err)
	}
	edges, _ := Edges("24h", p.now())
	pieces, err := p.o.Sources.Usage(ctx, edges)
	if err != nil {
		d.NoSpent = p.missing(r, err)
	}
	d.Spent = usage.SumUp(pieces...)
	d.Share = share(d.Spent.Tokens)
	found, _, err := p.o.Sources.Findings(ctx, false)
	if err != nil {
		d.NoDoctor = p.missing(r, err)
	}
	d.Count = count(found)
	for _, level := range []string{"fail", "warn"} {
		for _, f := range found {
			if f.Level == level && len(d.First) < 3 {
				d.First = append(d.First, f)
			}
		}
	}
	return view{Template: "overview", Title: "Overview", Here: "/", Data: d}, nil
}
