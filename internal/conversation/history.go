package conversation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Past is one entry of a session's history. An aside has only an Answer and a Mark.
type Past struct {
	Turn     int64 // the exchange's; of an aside, the turn before which it stands
	Snapshot []byte
	Input    []byte
	Answer   string
	Mark     string // heartbeat:<id>, hook:<id> or scenario:<id> of an aside
	Tokens   int    // what the entry takes, if Answered was told; 0: not counted
}

// History gives what a turn replays of its session, oldest first: the exchanges of
// earlier turns that were answered and not dropped, each with its bytes of then,
// and the asides that had been heard when the turn began. Nothing that is said
// later comes into it, so every attempt at a turn gets the same.
func (s *Store) History(ctx context.Context, session, before int64) (all []Past, err error) {
	err = s.db.Retry(ctx, fmt.Sprintf("the history of session %d cannot be read", session), func(ctx context.Context) error {
		rows, err := s.db.Pool().Query(ctx, `
			select turn, snapshot, input, answer, '', tokens, 1 as kind, 0 as id
			from attache.exchanges where session = $1 and turn < $2 and answer is not null and not dropped
				and turn >= (select since from attache.sessions where id = $1)
			union all
			select turn, '', '', text, mark, 0, 0, id from attache.asides where session = $1 and turn <= $2
				and turn >= (select since from attache.sessions where id = $1)
			order by turn, kind, id`, session, before)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, readPast)
		return err
	})
	return all, err
}

// Recent gives the newest n entries of what History gave a turn, oldest first,
// whatever was cut off the session since.
func (s *Store) Recent(ctx context.Context, session, before int64, n int) (all []Past, err error) {
	err = s.db.Retry(ctx, fmt.Sprintf("the history of session %d cannot be read", session), func(ctx context.Context) error {
		rows, err := s.db.Pool().Query(ctx, `
			select turn, snapshot, input, answer, '', tokens, 1 as kind, 0 as id
			from attache.exchanges where session = $1 and turn < $2 and answer is not null and not dropped
			union all
			select turn, '', '', text, mark, 0, 0, id from attache.asides where session = $1 and turn <= $2
			order by turn desc, kind desc, id desc limit $3`, session, before, n)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, readPast)
		slices.Reverse(all)
		return err
	})
	return all, err
}

// Trim cuts what came before a turn off a session's history for good, so that a long
// session is not read whole for each turn. It is told where the prompt was cut.
func (s *Store) Trim(ctx context.Context, session, since int64) error {
	return s.db.Retry(ctx, fmt.Sprintf("the history of session %d cannot be cut", session), func(ctx context.Context) error {
		_, err := s.db.Pool().Exec(ctx, `update attache.sessions set since = greatest(since, $2) where id = $1`, session, since)
		return err
	})
}

func readPast(r pgx.CollectableRow) (Past, error) {
	var p Past
	var answer []byte
	err := r.Scan(&p.Turn, &p.Snapshot, &p.Input, &answer, &p.Mark, &p.Tokens, nil, nil)
	p.Answer = string(answer)
	return p, err
}

// Answered keeps what a turn answered in the end, so that later turns replay it;
// tokens is what that replay takes, 0 when it was not counted. An empty answer
// leaves nothing in the history, as Drop does. Told twice, the later text stands;
// a turn that was dropped stays so. A turn that has not begun is an error.
func (s *Store) Answered(ctx context.Context, turn int64, text string, tokens int) error {
	return s.db.Retry(ctx, fmt.Sprintf("the answer of turn %d cannot be kept", turn), func(ctx context.Context) error {
		tag, err := s.db.Pool().Exec(ctx, `
			with answered as (
				update attache.exchanges set answer = $2, tokens = $3, dropped = dropped or length($2::bytea) = 0
				where turn = $1 returning session)
			update attache.sessions set last = now() from answered where id = answered.session`, turn, []byte(text), max(0, tokens))
		if err == nil && tag.RowsAffected() == 0 {
			return errors.New("it has no exchange; call Begin first")
		}
		return err
	})
}

// Drop takes a turn that was stopped, failed or stayed silent out of the history,
// for good. The exchange stays: a retry still finds its bytes. A turn that has not
// begun has nothing to drop.
func (s *Store) Drop(ctx context.Context, turn int64) error {
	return s.db.Retry(ctx, fmt.Sprintf("turn %d cannot be taken out of the history", turn), func(ctx context.Context) error {
		_, err := s.db.Pool().Exec(ctx, `update attache.exchanges set dropped = true where turn = $1`, turn)
		return err
	})
}

// Aside is what a run posted into a place (decisions § 3.11).
type Aside struct {
	Place attache.Place
	Key   string // what the run's turn was pinned to, in the form of Opening.Key
	Mark  string // heartbeat:<id>, hook:<id> or scenario:<id>
	Text  string
}

// Post keeps what a run posted, in the transaction that stores the post's result.
// The next turn that begins in the place hears it, in whatever session, if its key
// is the same; the turn that runs there meanwhile does not.
func (s *Store) Post(ctx context.Context, tx store.Tx, a Aside) error {
	if a.Mark == "" || a.Text == "" {
		return fmt.Errorf("a run's post in %v has no mark or no text, so it cannot stand in the history", a.Place)
	}
	_, err := tx.Exec(ctx, `insert into attache.asides (bot, chat, thread, key, mark, text) values ($1, $2, $3, $4, $5, $6)`,
		a.Place.Bot, a.Place.Chat, a.Place.Thread, a.Key, a.Mark, []byte(a.Text))
	if err != nil {
		return fmt.Errorf("a run's post in %v cannot be kept for the history: %w", a.Place, err)
	}
	return nil
}
