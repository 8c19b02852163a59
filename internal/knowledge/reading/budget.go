package reading

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"attache"
	"attache/internal/knowledge/ods"
)

// admit decides what has room. The entry is reserved; then come what it depends on
// itself, what it loads, prerequisites further away, code and related documents, each
// whole or not at all. What only a document without room needs is left out with it.
func (k *walk) admit() error {
	entry := k.picks[0]
	if k.MaxTokens > 0 && tokensOf(entry.file) > k.MaxTokens {
		return &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf("%s alone has %d tokens, and the limit is %d; raise the limit", entry.path, tokensOf(entry.file), k.MaxTokens)}
	}
	entry.in = true
	room := k.MaxTokens
	if k.MaxTokens > 0 {
		room -= tokensOf(entry.file)
	}
	take := func(p *pick) bool {
		if k.MaxTokens > 0 {
			n := tokensOf(p.file)
			if n > room {
				return false
			}
			room -= n
		}
		p.in = true
		return true
	}
	k.each(func(p *pick) bool { return p.why == whyDepends && p.depth == 1 }, take)
	k.each(func(p *pick) bool { return p.why == whyLoad }, take)
	k.deeper(take)
	k.each(func(p *pick) bool { return p.why == whyCode }, take)
	k.each(func(p *pick) bool { return p.why == whyRelated }, take)
	return nil
}

// each offers room to some of the picks, in the order in which they were found.
func (k *walk) each(which func(*pick) bool, take func(*pick) bool) {
	for _, p := range k.picks {
		if which(p) {
			take(p)
		}
	}
}

// deeper takes prerequisites of prerequisites, the nearest first, as long as something
// that is in needs them. Letting one in may make another needed that was passed by.
func (k *walk) deeper(take func(*pick) bool) {
	var waiting []*pick
	for _, p := range k.picks {
		if p.why == whyDepends && p.depth > 1 {
			waiting = append(waiting, p)
		}
	}
	for before := -1; before != len(waiting); {
		before = len(waiting)
		var still []*pick
		for _, p := range waiting {
			if !p.needed() {
				still = append(still, p)
			} else {
				take(p) // with no room now there is none later
			}
		}
		waiting = still
	}
}

// needed reports whether something that is in the list depends on it: what explains a
// document that is not there would cost room and explain nothing.
func (p *pick) needed() bool {
	return slices.ContainsFunc(p.parent, func(q *pick) bool { return q.in })
}

// finish puts what was admitted in order and names the rest. Rings are looked for among
// all that was found, also what has no room, so that a warning does not come and go with
// the limit.
func (k *walk) finish() *List {
	out := &List{ID: k.entry.ID}
	var docs []*ods.Document
	for _, p := range k.picks {
		if p.doc != nil && (p.why == whyTarget || p.why == whyDepends || p.why == whyRelated) {
			docs = append(docs, p.doc)
		}
	}
	rings := k.Rings(docs)
	for _, r := range rings {
		out.Warnings = append(out.Warnings, "depends goes round in a ring: "+r.String())
	}
	for _, p := range k.ordered(rings) {
		n := tokensOf(p.file)
		out.Total += n
		item := Item{Path: p.path, Why: p.why, Depth: p.depth, Tokens: n, Text: content(p.file)}
		if p.doc != nil {
			item.ID = p.doc.ID
		}
		out.Items = append(out.Items, item)
	}
	out.Left = k.remaining()
	return out
}

// remaining lists what is not in: what had no room, and of what was left out on the
// way all that nothing else brought. What is too far away is measured here, so that a
// person sees what a deeper list would take; what is barred is nobody's to measure.
func (k *walk) remaining() []Left {
	var out []Left
	for _, p := range k.picks {
		if !p.in {
			detail := ""
			if p.why == whyDepends && p.depth > 1 && !p.needed() {
				detail = "only what has no room needs it"
			}
			out = append(out, Left{Path: p.path, Why: whyBudget, Detail: detail, Tokens: tokensOf(p.file)})
		}
	}
	for _, l := range k.left {
		if l.Why == whyDepth {
			if k.known[l.Path] != nil {
				continue
			}
			l.Tokens = tokensOf(k.At(l.Path).File)
		}
		out = append(out, l)
	}
	slices.SortStableFunc(out, func(a, b Left) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Why, b.Why)) })
	return out
}

// ordered gives what is in, in the order to be read: documents after all that they
// depend on, of several that may come next the one most steps away and then by id;
// then what is loaded and code, as declared; then the entry. Where depends goes round
// the reference that closes the ring does not count.
func (k *walk) ordered(rings []ods.Ring) []*pick {
	closes := map[[2]*ods.Document]bool{}
	for _, r := range rings {
		closes[[2]*ods.Document{r.Docs[len(r.Docs)-1], r.Docs[0]}] = true
	}
	waits := map[*pick]int{}
	before := map[*pick][]*pick{} // who waits for it
	ready := &queue{}
	for _, p := range k.picks[1:] {
		if !p.in || p.why != whyDepends && p.why != whyRelated {
			continue
		}
		for _, d := range k.Depends(p.doc) {
			first := k.known[d.Path]
			if first != nil && first != p && first.in && (first.why == whyDepends || first.why == whyRelated) && !closes[[2]*ods.Document{p.doc, d}] {
				waits[p]++
				before[first] = append(before[first], p)
			}
		}
		if waits[p] == 0 {
			heap.Push(ready, p)
		}
	}
	var out []*pick
	for ready.Len() > 0 {
		p := heap.Pop(ready).(*pick)
		out = append(out, p)
		for _, next := range before[p] {
			if waits[next]--; waits[next] == 0 {
				heap.Push(ready, next)
			}
		}
	}
	for _, why := range []Why{whyLoad, whyCode, whyTarget} {
		for _, p := range k.picks {
			if p.in && p.why == why {
				out = append(out, p)
			}
		}
	}
	return out
}

// queue holds the documents that may come next.
type queue []*pick

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(-cmp.Compare(q[i].depth, q[j].depth), cmp.Compare(q[i].doc.ID, q[j].doc.ID), cmp.Compare(q[i].path, q[j].path)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push adds a *pick; it is for container/heap.
func (q *queue) Push(x any) { *q = append(*q, x.(*pick)) }

// Pop takes the last one away; it is for container/heap.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
