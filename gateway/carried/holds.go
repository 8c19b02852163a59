package carried

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"attache/contexts"
	"attache/internal/store"
)

// Holds reads the links that earlier turns of a session left for its next one.
func Holds(ctx context.Context, db *store.DB, session int64) (holds []contexts.Hold, err error) {
	var raw []byte
	err = db.Pool().QueryRow(ctx, `select holds from attache.context_holds where session = $1`, session).Scan(&raw)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &holds)
	}
	if err != nil {
		return nil, fmt.Errorf("what session %d holds cannot be read: %w", session, err)
	}
	return holds, nil
}

// Keep writes down what a turn leaves held in its session, in place of what was held
// before. A turn that a crash makes end twice is counted once (decisions § 3.5).
func Keep(ctx context.Context, db *store.DB, session, turn int64, holds []contexts.Hold) error {
	raw, err := json.Marshal(holds)
	if err != nil {
		return err
	}
	return db.Retry(ctx, "keeping held contexts", func(ctx context.Context) error {
		_, err := db.Pool().Exec(ctx, `insert into attache.context_holds (session, turn, holds) values ($1, $2, $3)
			on conflict (session) do update set turn = excluded.turn, holds = excluded.holds, at = now()
			where context_holds.turn < excluded.turn`, session, turn, raw)
		return err
	})
}
