package knowledge

import (
	"strings"

	"attache/internal/brainfile"
)

// ring is a way by which depends leads from a document back to itself.
type ring struct {
	docs []*Document
	at   brainfile.Word // the reference of the last one that closes it
}

// String names the documents of a ring, the first of them again at its end.
func (r ring) String() string {
	names := make([]string, 0, len(r.docs)+1)
	for _, d := range r.docs {
		names = append(names, d.ID)
	}
	return strings.Join(append(names, r.docs[0].ID), " → ")
}

// rings goes through documents in their order, along depends as declared, and gives a
// ring for each reference that leads back to a document on the way.
func (w *Workspace) rings(docs []*Document) []ring {
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

type search struct {
	w     *Workspace
	in    map[*Document]bool
	state map[*Document]int // 1 on the way, 2 done
	way   []*Document
	rings []ring
}

func (s *search) visit(d *Document) {
	s.state[d] = 1
	s.way = append(s.way, d)
	for _, ref := range d.head.depends {
		to, _ := s.w.document(d, ref.Text)
		switch {
		case to == nil || !s.in[to]:
		case s.state[to] == 0:
			s.visit(to)
		case s.state[to] == 1:
			from := len(s.way) - 1
			for s.way[from] != to {
				from--
			}
			s.rings = append(s.rings, ring{append([]*Document(nil), s.way[from:]...), ref})
		}
	}
	s.way = s.way[:len(s.way)-1]
	s.state[d] = 2
}
