package usage

import (
	"context"
	"fmt"
	"time"

	"attache"
)

// Stretch is what was spent between two moments.
type Stretch struct {
	Total
	// Known is the sum of the costs that are known, and Priceless how many billed
	// exchanges have none: Total's Cost is unknown while there is one.
	Known     float64
	Priceless int64
}

// Series sums up the calls of each of the stretches between two neighbours of edges,
// of one chat unless it is 0. Costs are summed up exactly, by the database.
func Series(ctx context.Context, q Querier, edges []time.Time, chat attache.ChatID) ([]Stretch, error) {
	all := make([]Stretch, len(edges)-1)
	for i := range all {
		all[i].Cost = new(float64) // nothing was called: known to be nothing
	}
	rows, err := q.Query(ctx, `
		select width_bucket(at, $1::timestamptz[]) - 1 stretch, model, count(*),
			count(*) filter (where why <> ''), count(*) filter (where why = '' and tokens_in is null),
			coalesce(sum(tokens_in), 0)::bigint, coalesce(sum(cached), 0)::bigint, coalesce(sum(cache_write), 0)::bigint,
			coalesce(sum(out), 0)::bigint, coalesce(sum(reasoning), 0)::bigint,
			coalesce(sum(cost), 0)::float8, count(*) filter (where cost is null and `+billed+`)
		from attache.model_calls where at >= $2 and at < $3 and ($4::bigint = 0 or chat = $4) group by stretch, model order by stretch, count(*) desc, model`,
		edges, edges[0], edges[len(edges)-1], chat)
	if err != nil {
		return nil, fmt.Errorf("the model calls cannot be summed up: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var n int
		var model string
		var s Stretch
		if err := rows.Scan(&n, &model, &s.Events, &s.Failed, &s.Silent,
			&s.Tokens.In, &s.Tokens.Cached, &s.Tokens.CacheWrite, &s.Tokens.Out, &s.Tokens.Reasoning, &s.Known, &s.Priceless); err != nil {
			return nil, fmt.Errorf("the model calls cannot be summed up: %w", err)
		}
		s.Cost = known(s.cost())
		s.Models = []ModelTotal{{model, s.Events, s.Tokens.In, s.Tokens.Out, s.Cost}}
		all[n] = SumUp(all[n], s)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("the model calls cannot be summed up: %w", err)
	}
	return all, nil
}

// cost gives what is known to be the whole cost, nil while something is unknown.
func (s Stretch) cost() *float64 {
	if s.Priceless > 0 {
		return nil
	}
	return &s.Known
}

// SumUp adds stretches up. What is unknown in one is unknown in the sum.
func SumUp(stretches ...Stretch) Stretch {
	var sum Stretch
	models := map[string]int{}
	for _, s := range stretches {
		sum.Events, sum.Failed, sum.Silent = sum.Events+s.Events, sum.Failed+s.Failed, sum.Silent+s.Silent
		sum.Tokens = sum.Tokens.plus(s.Tokens)
		sum.Known, sum.Priceless = sum.Known+s.Known, sum.Priceless+s.Priceless
		for _, m := range s.Models {
			at, ok := models[m.Model]
			if !ok {
				models[m.Model] = len(sum.Models)
				sum.Models = append(sum.Models, m)
				continue
			}
			sum.Models[at] = sum.Models[at].plus(m)
		}
	}
	sum.Cost = sum.cost()
	return sum
}

func (t Tokens) plus(u Tokens) Tokens {
	return Tokens{t.In + u.In, t.Cached + u.Cached, t.CacheWrite + u.CacheWrite, t.Out + u.Out, t.Reasoning + u.Reasoning}
}

func (m ModelTotal) plus(n ModelTotal) ModelTotal {
	sum := ModelTotal{Model: m.Model, Calls: m.Calls + n.Calls, In: m.In + n.In, Out: m.Out + n.Out}
	if m.Cost != nil && n.Cost != nil {
		cost := *m.Cost + *n.Cost
		sum.Cost = &cost
	}
	return sum
}
