package posts

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Record is one part of what was posted, and what became of it; its JSON is part
// of `attache turns --json` (interface § 1).
type Record struct {
	Part     int           `json:"part"`
	Place    attache.Place `json:"place"`
	State    string        `json:"state"` // intent, sending, sent, refused, unknown or dropped
	Messages []int64       `json:"messages,omitempty"`
	Text     string        `json:"text"`
	Why      string        `json:"why,omitempty"`
	At       time.Time     `json:"at"` // when its intent was written
}

const recordColumns = `part, bot, chat, thread, state, messages, text, why, at`

// OfTurn reads the posts of a turn, its answer and what its tools said, in the
// order in which they were written down.
func OfTurn(ctx context.Context, db *store.DB, turn int64) ([]Record, error) {
	rows, err := db.Pool().Query(ctx, `select `+recordColumns+` from attache.posts where turn = $1 order by id`, turn)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, readRecord)
}

// Troubled reads the posts since a moment that Telegram refused or whose fate is
// unknown (decisions § 7.5), newest first, and counts them. At most 100 are read:
// who has more looks for the cause, not at each.
func Troubled(ctx context.Context, db *store.DB, since time.Time) (found []Record, all int, err error) {
	const which = ` from attache.posts where state in ('unknown', 'refused') and at >= $1`
	if err := db.Pool().QueryRow(ctx, `select count(*)`+which, since).Scan(&all); err != nil {
		return nil, 0, err
	}
	rows, err := db.Pool().Query(ctx, `select `+recordColumns+which+` order by at desc limit 100`, since)
	if err != nil {
		return nil, 0, err
	}
	found, err = pgx.CollectRows(rows, readRecord)
	return found, all, err
}

func readRecord(r pgx.CollectableRow) (Record, error) {
	var p Record
	err := r.Scan(&p.Part, &p.Place.Bot, &p.Place.Chat, &p.Place.Thread, &p.State, &p.Messages, &p.Text, &p.Why, &p.At)
	return p, err
}
