package ods

import (
	"strings"

	"attache/internal/brainfile"
)

// Ring is a way by which depends leads from a document back to itself.
type Ring struct {
	Docs []*Document
	At   brainfile.Word // the reference of the last one that closes it
}

// String names the documents of a ring, the first of them again at its end.
func (r Ring) String() string {
	names := make([]string, 0, len(r.Docs)+1)
	for _, d := range r.Docs {
		names = append(names, d.ID)
	}
	return strings.Join(append(names, r.Docs[0].ID), " → ")
}

// Rings goes through documents in their order, along depends as declared, and gives a
// ring for each reference that leads back to a document on the way. References to
// documents that are not among them end there. A ring is no obstacle to reading: the
// reference that closes it is left out of the order, and people are told.
func (w *Workspace) Rings(docs []*Document) []Ring {
	s := search{w: w, in: map[*Document]bool{}, state: map[*Document]int{}}
	for _, d := range docs {
		s.in[d] = true
	}
	for _, d := range docs {
		if s.state[d] == 0 {
			s.visit(d)
		}
	}
	return s.rings
}

// search is one walk along depends. A document that is done is never gone into again, so
// a workspace of ten thousand takes as many steps as it has references.
type search struct {
	w     *Workspace
	in    map[*Document]bool
	state map[*Document]int // 1 on the way, 2 done
	way   []*Document
	rings []Ring
}

func (s *search) visit(d *Document) {
	s.state[d] = 1
	s.way = append(s.way, d)
	for _, ref := range d.Names.Depends {
		to, _ := s.w.Resolve(d, ref.Text)
		switch {
		case to == nil || !s.in[to]:
		case s.state[to] == 0:
			s.visit(to)
		case s.state[to] == 1:
			from := len(s.way) - 1
			for s.way[from] != to {
				from--
			}
			s.rings = append(s.rings, Ring{append([]*Document(nil), s.way[from:]...), ref})
		}
	}
	s.way = s.way[:len(s.way)-1]
	s.state[d] = 2
}
