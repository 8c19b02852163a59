package conversation

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
)

// TurnsByRole counts the turns that began in each of the stretches between two
// neighbours of edges, by the role that they began under; of one chat of a bot
// unless chat is 0. It asks the database once.
func (s *Store) TurnsByRole(ctx context.Context, edges []time.Time, bot attache.BotID, chat attache.ChatID) ([]map[attache.RoleID]int, error) {
	counts := make([]map[attache.RoleID]int, len(edges)-1)
	for i := range counts {
		counts[i] = map[attache.RoleID]int{}
	}
	args, chosen := []any{edges, edges[0], edges[len(edges)-1]}, ``
	if chat != 0 {
		args, chosen = append(args, bot, chat), ` and session = any(array(select id from attache.sessions where bot = $4 and chat = $5))`
	}
	// Counted by session first: a number is compared faster than a name.
	rows, err := s.db.Pool().Query(ctx, `
		select stretch, role, sum(n) from (select width_bucket(at, $1::timestamptz[]) - 1 stretch, session, count(*) n
			from attache.exchanges where at >= $2 and at < $3`+chosen+` group by stretch, session) e
		join attache.sessions on id = session group by stretch, role`, args...)
	if err != nil {
		return nil, fmt.Errorf("the turns of each role cannot be counted: %w", err)
	}
	var stretch, n int
	var role attache.RoleID
	_, err = pgx.ForEachRow(rows, []any{&stretch, &role, &n}, func() error {
		counts[stretch][role] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the turns of each role cannot be counted: %w", err)
	}
	return counts, nil
}

// Roles gives the roles that turns began under; one that never began has none. It
// asks the database once.
func (s *Store) Roles(ctx context.Context, turns []int64) (map[int64]attache.RoleID, error) {
	rows, err := s.db.Pool().Query(ctx, `select turn, role from attache.exchanges join attache.sessions s on s.id = session where turn = any($1)`, turns)
	if err != nil {
		return nil, fmt.Errorf("the roles of turns cannot be read: %w", err)
	}
	roles := map[int64]attache.RoleID{}
	var turn int64
	var role attache.RoleID
	_, err = pgx.ForEachRow(rows, []any{&turn, &role}, func() error {
		roles[turn] = role
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the roles of turns cannot be read: %w", err)
	}
	return roles, nil
}
