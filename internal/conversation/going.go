package conversation

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"attache/internal/store"
)

// Going gives the session that a turn would go on with if it began now; false when
// it would open a new one. Of o it looks at the place, the role, the engine, the key
// and the longest silence. It only reads, and needs no Store, whose making brings
// tables up to date.
func Going(ctx context.Context, db *store.DB, o Opening) (session int64, ok bool, err error) {
	err = db.Pool().QueryRow(ctx, `select id from attache.sessions where `+here+` and `+fits+` and $7::bigint is not null`,
		o.common(o.idle())...).Scan(&session)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("the session in %v cannot be read: %w", o.Place, err)
	}
	return session, true, nil
}
