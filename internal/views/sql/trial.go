package sql

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Trial is a statement whose sense Check asks Postgres for.
type Trial struct {
	Statement
	Types Types
}

// Refusal is what Postgres says of a statement that it does not take; the zero value
// says that it does.
type Refusal struct {
	What string // in the server's own words
	Hint string // mostly ""
}

// try has each statement prepared, which carries nothing out. A table that another
// process holds says nothing about a statement.
func (c *changes) try(ctx context.Context, trials []Trial) ([]Refusal, error) {
	out := make([]Refusal, len(trials))
	for i, t := range trials {
		if _, err := c.conn.Exec(ctx, `savepoint trial`); err != nil {
			return nil, err
		}
		err := c.prepare(ctx, t)
		var refused *pgconn.PgError
		if errors.As(err, &refused) && refused.Code != locked {
			out[i] = Refusal{strings.TrimSuffix(refused.Message, "."), strings.TrimSuffix(refused.Hint, ".")}
		} else if err != nil && refused == nil {
			return nil, err
		}
		if _, err := c.conn.Exec(ctx, `rollback to savepoint trial`); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// prepare has one statement prepared, again as long as its types may be at fault.
func (c *changes) prepare(ctx context.Context, t Trial) error {
	types := Types{Told: slices.Clone(t.Types.Told), own: t.Types.own}
	for {
		_, err := c.conn.PgConn().Prepare(ctx, "", t.SQL, types.Told)
		if err == nil || !types.Mend(err) {
			return err
		}
		if _, err := c.conn.Exec(ctx, `rollback to savepoint trial`); err != nil {
			return err
		}
	}
}

// Types are those of a statement's parameters, as OIDs, by their numbers. Postgres
// finds most of them by itself. Where it finds none, as in ":x is null", the value
// says it; where it finds one that fits nothing, as in "id = any(array[:a, :b])",
// those of numbers and truths do.
type Types struct {
	Told []uint32 // what Postgres is told; 0 leaves it to it
	own  []uint32 // what each value is when nothing else says it
}

// NewTypes leaves every type to Postgres, with what the values are by themselves.
func NewTypes(own []uint32) Types { return Types{make([]uint32, len(own)), own} }

// SQLSTATEs that may come from a parameter's having no type.
const (
	undecided  = "42P18" // the type of a parameter is not known
	ambiguous  = "42P08" // or could be several
	noFunction = "42883" // or operator, for these types
	wrongType  = "42804"
)

// Mend gives types to parameters after an error that may come from their having none.
// It reports whether it gave one, so that trying comes to an end.
func (t *Types) Mend(err error) bool {
	changed := false
	give := func(i int) {
		if i >= 0 && i < len(t.Told) && t.Told[i] == 0 {
			t.Told[i], changed = t.own[i], true
		}
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case undecided, ambiguous:
		give(Parameter(pg) - 1)
	case noFunction, wrongType:
		for i, oid := range t.own {
			if oid != pgtype.TextOID && oid != pgtype.JSONBOID {
				give(i)
			}
		}
	}
	return changed
}

// parameter finds the number of a parameter in what Postgres says, in any of its
// languages.
var parameter = regexp.MustCompile(`\$([0-9]{1,5})\b`)

// Parameter gives the number of the parameter that an error is about, 0 for none.
func Parameter(err error) int {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return 0
	}
	for _, text := range []string{pg.Where, pg.Message} {
		if m := parameter.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1]) // five digits
			return n
		}
	}
	return 0
}
