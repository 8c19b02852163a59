package brainfile

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Nearest gives the name that a mistyped word was most likely meant to be, or ""
// when none is near: a third of the letters may differ, at least two in a word of
// four letters or more. Of equally near names the first by alphabet wins.
func Nearest(word string, names []string) string {
	word = strings.ToLower(word)
	letters := utf8.RuneCountInString(word)
	limit := max(letters/3, 2)
	if letters < 4 {
		limit = 1
	}
	best, bestAt := "", limit+1
	for _, name := range slices.Sorted(slices.Values(names)) {
		if abs(utf8.RuneCountInString(name)-letters) > limit {
			continue // cheaper than counting, and a hostile word may be long
		}
		if at := levenshtein.ComputeDistance(word, strings.ToLower(name)); at < bestAt {
			best, bestAt = name, at
		}
	}
	return best
}

// Suggest gives the advice beside a wrong word: the nearest right one, else all of
// them when they are few enough to read, else other.
func Suggest(word string, names []string, other string) string {
	if near := Nearest(word, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) > 0 && len(names) <= 24 {
		return "the right ones are " + strings.Join(slices.Sorted(slices.Values(names)), ", ")
	}
	return other
}

func abs(n int) int { return max(n, -n) }
