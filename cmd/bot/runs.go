package main

import (
	"context"

	"attache/internal/store"
)

// runEnded is told how a run ended, in the transaction that closes its turn.
func (p *program) runEnded(ctx context.Context, tx store.Tx, turn int64, state, why string) error {
	return nil
}
