package sql

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"attache"
)

// Schema is a feature's schema.sql: any SQL of the brain's author, which makes the
// feature's tables and views.
type Schema struct {
	Feature attache.FeatureID
	File    string // from the brain's root, for problems
	Text    string
}

// hash names a text.
func (s Schema) hash() string {
	sum := sha256.Sum256([]byte(s.Text))
	return hex.EncodeToString(sum[:])
}

// The times that a schema may take. Waiting for a lock is short in a check, which
// must not hold up the bot that runs meanwhile.
const (
	applyTime = 5 * time.Minute
	applyLock = 10 * time.Second
	checkTime = time.Minute
	checkLock = 2 * time.Second
)

// Apply runs every schema whose text has changed since it was last applied, each
// whole in one transaction, in an order in which one may build on another
// (architecture § 4, schema.sql). Before it runs the feature's own views are
// dropped, so that a changed list of columns works; features whose views are built
// on them are run again in the same transaction. Nothing of a schema is applied
// when it ends in an error, when a table or a column would disappear, or when it
// defines a view of another feature; that is a problem, and the rest go on. The
// error is for a database that did not answer. Several processes may do this at
// once.
//
// schemas are those of all features that are switched on: a view that a feature not
// among them left behind may be taken over.
func Apply(ctx context.Context, owner *pgxpool.Pool, schemas []Schema) ([]attache.Problem, error) {
	var problems []attache.Problem
	err := onConnection(ctx, owner, applyTime, applyLock, func(ctx context.Context, conn *pgx.Conn) error {
		c := changes{conn: conn, all: schemas, final: true}
		err := c.apply(ctx)
		problems = c.problems
		return err
	})
	if err != nil {
		return problems, fmt.Errorf("the schemas of the features cannot be applied: %w", err)
	}
	return problems, nil
}

// Found is what a Check saw.
type Found struct {
	Columns  map[string][]string // of each view that was asked for and would exist
	Refusals []Refusal           // by trial
}

// Check tells what Apply would say, the columns that each of the named views would
// have, and what Postgres would say of statements, none of which is carried out.
// Everything is rolled back. Schemas that are applied already are not run again.
func Check(ctx context.Context, owner *pgxpool.Pool, schemas []Schema, views []string, trials []Trial) (Found, []attache.Problem, error) {
	var problems []attache.Problem
	var found Found
	err := onConnection(ctx, owner, checkTime, checkLock, func(ctx context.Context, conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `begin`); err != nil {
			return err
		}
		c := changes{conn: conn, all: schemas}
		err := c.apply(ctx)
		problems = c.problems
		if err == nil {
			found.Columns, err = c.describe(ctx, views)
		}
		if err == nil {
			found.Refusals, err = c.try(ctx, trials)
		}
		return err // the connection ends, and the transaction with it
	})
	if err != nil {
		return Found{}, problems, fmt.Errorf("the schemas of the features cannot be checked: %w", err)
	}
	return found, problems, nil
}

// onConnection runs work on a connection of the owner's that is thrown away
// afterwards: a schema may leave settings behind, as those that pg_dump writes do.
func onConnection(ctx context.Context, owner *pgxpool.Pool, limit, lock time.Duration, work func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	config := owner.Config().ConnConfig
	config.RuntimeParams["search_path"] = "public" // not "$user", which is the schema attache for a login of that name
	config.RuntimeParams["standard_conforming_strings"] = "on"
	config.RuntimeParams["lock_timeout"] = strconv.FormatInt(lock.Milliseconds(), 10)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // views are dropped and made anew under a prepared statement
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing) // nothing is left to do about it
	}()
	return work(ctx, conn)
}

// The two numbers of the advisory lock of whoever changes a schema.
const (
	lockSpace   = 0x76696577 // "view"
	lockSchemas = 2
)

// SQLSTATEs that decide something here.
const (
	noRight = "42501" // insufficient privilege
	locked  = "55P03"
	builtOn = "2BP01" // something depends on what is to be dropped
)

// record is what attache.schemas knows of a feature.
type record struct {
	hash  string
	views []string
}

// changes is one Apply or Check under way.
type changes struct {
	conn     *pgx.Conn
	all      []Schema
	final    bool // commit each unit; else all stays in the one open transaction
	problems []attache.Problem
	noted    map[attache.FeatureID]record // in a check, what stands in no table
}

// apply runs what has changed. What fails for want of something that another
// feature may still make is tried again after the others.
func (c *changes) apply(ctx context.Context) error {
	slices.SortFunc(c.all, func(a, b Schema) int { return strings.Compare(string(a.Feature), string(b.Feature)) })
	records, err := c.records(ctx)
	if err != nil {
		return err
	}
	pending := slices.DeleteFunc(c.sound(), func(s Schema) bool { return records[s.Feature].hash == s.hash() })
	for len(pending) > 0 {
		var failed []Schema
		var why []attache.Problem
		for _, s := range pending {
			err := c.unit(ctx, s)
			var problem attache.Problem
			var more *clash
			switch {
			case err == nil:
			case errors.As(err, &more):
				c.problems = append(c.problems, more.both...)
			case errors.As(err, &problem):
				failed, why = append(failed, s), append(why, problem)
			default:
				return err
			}
		}
		if len(failed) == len(pending) {
			c.problems = append(c.problems, why...)
			return nil
		}
		pending = failed
	}
	return nil
}

// unit brings one feature up to date, and with it those that build on it, in a
// transaction of its own or, in a check, up to a savepoint.
func (c *changes) unit(ctx context.Context, s Schema) error {
	begin, commit, rollback := `savepoint schema`, `release savepoint schema`, `rollback to savepoint schema`
	if c.final {
		begin, commit, rollback = `begin`, `commit`, `rollback`
	}
	if _, err := c.conn.Exec(ctx, begin); err != nil {
		return err
	}
	noted := maps.Clone(c.noted)
	err := c.change(ctx, s)
	if err == nil {
		if _, err = c.conn.Exec(ctx, commit); err == nil {
			return nil
		}
		err = failure(s, err, 0, nil) // a constraint that is checked at the end
	}
	c.noted = noted
	if _, undo := c.conn.Exec(ctx, rollback); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}

// change does the work of unit inside its transaction.
func (c *changes) change(ctx context.Context, s Schema) error {
	if _, err := c.conn.Exec(ctx, `select pg_catalog.pg_advisory_xact_lock($1, $2)`, lockSpace, lockSchemas); err != nil {
		return err
	}
	records, err := c.records(ctx)
	if err != nil || records[s.Feature].hash == s.hash() {
		return err
	}
	again, err := c.clear(ctx, s, records)
	if err != nil {
		return err
	}
	before, err := c.columns(ctx)
	if err != nil {
		return err
	}
	units := append([]Schema{s}, again...)
	made := make([][]string, len(units))
	for i, each := range units {
		if made[i], err = c.run(ctx, each, slices.Concat(made...), records); err != nil {
			return err
		}
	}
	after, err := c.columns(ctx)
	if err == nil {
		err = lost(s, before, after)
	}
	for i, each := range units {
		if err == nil {
			err = c.remember(ctx, each, made[i])
		}
	}
	return err
}

// run runs one text and lists the views that it defined, those left out that were
// made before it in the same transaction.
func (c *changes) run(ctx context.Context, s Schema, made []string, records map[attache.FeatureID]record) ([]string, error) {
	old, transaction, err := c.moment(ctx)
	if err != nil {
		return nil, err
	}
	statements, wrong := split(s.Text)
	if wrong != nil {
		return nil, problemAt(s.File, s.Text, *wrong)
	}
	done, err := c.execute(ctx, s.Text)
	if err != nil {
		return nil, failure(s, err, done, statements)
	}
	if _, err := c.conn.Exec(ctx, `reset role; set search_path = public`); err != nil {
		return nil, err
	}
	_, now, err := c.moment(ctx)
	if err != nil {
		return nil, err
	}
	if now != transaction { // split has refused the words for it; this is for those that it does not know
		return nil, attache.Problem{File: s.File, Line: 1, Col: 1, What: "it ends the transaction that it runs in", Do: "leave out what commits or rolls back"}
	}
	views, err := c.defined(ctx, old)
	if err != nil {
		return nil, err
	}
	views = slices.DeleteFunc(views, func(v string) bool { return slices.Contains(made, v) })
	return views, c.others(s, views, records)
}

// execute runs a text as it is and tells how many of its statements were done.
func (c *changes) execute(ctx context.Context, text string) (done int, err error) {
	results := c.conn.PgConn().Exec(ctx, text)
	for results.NextResult() {
		if _, err := results.ResultReader().Close(); err == nil {
			done++
		}
	}
	return done, results.Close()
}

// failure puts an error of the database at its place in a schema. The server tells
// the character for what it cannot read or find; for the rest the statement that
// was running stands for it. An error that is not the server's goes through.
func failure(s Schema, err error, done int, statements []token) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	at, do := 0, advice(pg)
	switch {
	case pg.Position > 0:
		at = byteOf(s.Text, int(pg.Position)-1)
	case done < len(statements):
		at = statements[done].at
	}
	if pg.Code == builtOn && done < len(statements) && takesAway(s.Text[at:]) {
		do = "a schema.sql takes no table or column away, and the data with it: take this statement out, or take away by hand in psql what nobody needs any more, and here what makes it"
	}
	what := strings.TrimSuffix(pg.Message, ".")
	return problemAt(s.File, s.Text, mistake{at, "the database refuses this: " + what, do})
}

// takesAway reports whether the statement that begins here drops a table or a part of one.
func takesAway(text string) bool {
	tokens, _ := lex(text) // a mistake was found before
	all := statements(tokens)
	if len(all) == 0 {
		return false
	}
	first := all[0]
	if first[0].is("drop") {
		return len(first) > 1 && first[1].is("table")
	}
	return first[0].is("alter") && slices.ContainsFunc(first, func(t token) bool { return t.is("drop") })
}

// byteOf gives the byte at which the n-th character begins, counted from 0.
func byteOf(text string, n int) int {
	for at := range text {
		if n == 0 {
			return at
		}
		n--
	}
	return len(text)
}

// advice is what to do about an error in a schema. It runs again whenever its text
// changes, which is what most of them come from.
func advice(pg *pgconn.PgError) string {
	switch pg.Code {
	case "42P07":
		return "the text runs again after each change, so write create table if not exists, or create or replace view"
	case "42701":
		return "the text runs again after each change, so write add column if not exists"
	case "42710", "42723":
		return "the text runs again after each change, so write or replace, if not exists, or drop … if exists before it"
	case builtOn:
		return "something that this file makes, or something outside of the brain's schemas, is built on it; drop that first"
	case locked:
		return "another process works on the table; start again when it is done"
	case noRight:
		return "let the login of DATABASE_URL do this, or have it done by one that may"
	}
	return "mend the statement; nothing of the file was applied"
}

// lost refuses what would lose data.
func lost(s Schema, before, after map[string]string) error {
	var gone []string
	for name, what := range before {
		if after[name] != what {
			gone = append(gone, name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	rest := ""
	if len(gone) > 3 {
		gone, rest = gone[:3], fmt.Sprintf(" and %d more", len(gone)-3)
	}
	return attache.Problem{File: s.File, Line: 1, Col: 1,
		What: "it would take away " + strings.Join(gone, ", ") + rest + ", and the data with it; nothing of the file was applied",
		Do:   "leave tables and columns in place, or take them away by hand in psql first"}
}
