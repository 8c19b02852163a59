package doctor

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"attache/internal/brain"
	"attache/internal/tools"
	"attache/internal/views/sql"
)

// called lists the SQL tools that load, of features that are switched on. A table or a
// column that a statement names and nobody has makes no mistake in its file; without a
// look at the database the first call would find it.
func called(b *brain.Brain) []tools.SQLTool {
	found, _ := tools.SQLTools(b.Tree, nil) // their mistakes are the brain's problems
	return slices.DeleteFunc(found, func(t tools.SQLTool) bool {
		f, ok := b.Frame.Feature(t.Feature)
		return ok && !f.Enabled
	})
}

// trials gives the statements of tools, for Postgres to judge.
func trials(list []tools.SQLTool) []sql.Trial {
	out := make([]sql.Trial, len(list))
	for i, t := range list {
		out[i] = t.Trial()
	}
	return out
}

// ofStatements says what Postgres refuses. What a schema.sql that is refused would have
// made is not called missing: the one mistake is named already.
func ofStatements(list []tools.SQLTool, refused []sql.Schema, said []sql.Refusal) []Finding {
	excused := candidates(refused)
	var out []Finding
	for i, t := range list {
		if said[i] == (sql.Refusal{}) || rests(t, refused, excused) {
			continue
		}
		do := "mend sql, or have schema.sql of the feature make what it names; until then each call fails"
		if said[i].Hint != "" {
			do += " (the database says: " + said[i].Hint + ")"
		}
		out = append(out, Finding{Level: Warn, Check: sqlTools,
			What: fmt.Sprintf("the database refuses the statement of %s: %s", t.Tool.Name, said[i].What), Do: do}.at(t.File, t.Line, 1))
	}
	return out
}

// rests reports whether a tool's statement needs what a refused schema would make.
func rests(t tools.SQLTool, refused []sql.Schema, makes []string) bool {
	if slices.ContainsFunc(refused, func(s sql.Schema) bool { return s.Feature == t.Feature }) {
		return true
	}
	words := strings.FieldsFunc(strings.ToLower(t.Statement.SQL), func(r rune) bool {
		return r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return slices.ContainsFunc(makes, func(name string) bool { return slices.Contains(words, name) })
}
