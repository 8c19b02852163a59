package knowledge

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"attache/internal/knowledge/ods"
)

// Hit is a document that a search found.
type Hit struct {
	Name    string // <pack>/<id>
	Pack    string
	Title   string
	Summary string
	Profile string
	Line    string // of its text below headings, the first that has a word of the query; "" for none
}

// How much a word counts by where it stands, and what of a text counts at most.
const (
	inTitle   = 8
	inSummary = 4
	inID      = 4
	inBody    = 1
	mostBody  = 5
	longLine  = 200 // letters of a hit's line
)

// Search finds documents that have words of a query in their id, title, summary or
// text, in the packs whose name is pack, or in all when it is "". Those with more of
// the words come first, then those where they stand more prominently, then by name. A
// word that begins with a word of the query counts, and so does the other way round
// for words of four letters or more. Private and broken documents are never found.
// The first most of them are given, and how many more there are.
func (l *Library) Search(query, pack string, most int) (hits []Hit, more int) {
	wanted := distinct(terms(query))
	if len(wanted) == 0 {
		return nil, 0
	}
	type scored struct {
		place
		words, score int
	}
	var found []scored
	for _, s := range l.Packs() {
		if pack != "" && !strings.EqualFold(s.Name, pack) {
			continue
		}
		for _, d := range s.Open() {
			words, points := score(d, wanted)
			if words > 0 {
				found = append(found, scored{place{s, d}, words, points})
			}
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.words, a.words), cmp.Compare(b.score, a.score), cmp.Compare(a.shelf.NameOf(a.doc), b.shelf.NameOf(b.doc)))
	})
	for _, f := range found[:min(len(found), most)] {
		hits = append(hits, f.shelf.hit(f.doc, wanted))
	}
	return hits, len(found) - len(hits)
}

func (s *Shelf) hit(d *ods.Document, wanted []string) Hit {
	h := Hit{Name: s.NameOf(d), Pack: s.Name, Title: d.Title, Summary: d.Summary, Profile: d.Profile}
	for line := range strings.Lines(d.Body) {
		if !strings.HasPrefix(line, "#") && slices.ContainsFunc(terms(line), func(t string) bool { return anyOf(wanted, t) }) {
			h.Line = strings.TrimSpace(line)
			if letters := []rune(h.Line); len(letters) > longLine {
				h.Line = string(letters[:longLine-1]) + "…"
			}
			break
		}
	}
	return h
}

// score counts how many of the words a document has, and how prominently.
func score(d *ods.Document, wanted []string) (words, score int) {
	parts := []struct {
		terms []string
		each  int
		most  int
	}{{terms(d.Title), inTitle, inTitle}, {terms(d.Summary), inSummary, inSummary}, {terms(d.ID), inID, inID}, {terms(d.Body), inBody, mostBody}}
	for _, word := range wanted {
		sum := 0
		for _, p := range parts {
			at := 0
			for _, t := range p.terms {
				if near(word, t) {
					at += p.each
				}
			}
			sum += min(at, p.most)
		}
		if sum > 0 {
			words, score = words+1, score+sum
		}
	}
	return words, score
}

// terms cuts a text into its words, in lower case.
func terms(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

func distinct(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}

func anyOf(wanted []string, term string) bool {
	return slices.ContainsFunc(wanted, func(word string) bool { return near(word, term) })
}

// near reports whether a word of a text is a word of a query, begins with it, or is
// the beginning of it. Scripts that write no spaces have sentences for words, so there
// a part is enough.
func near(word, term string) bool {
	switch {
	case strings.HasPrefix(term, word):
		return true
	case len(term) >= 4 && strings.HasPrefix(word, term):
		return true
	}
	return word[0] >= 0x80 && strings.Contains(term, word)
}
