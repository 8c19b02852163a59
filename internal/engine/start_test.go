package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"attache/internal/store"
	"attache/internal/store/storetest"
)

// Replicas may start side by side on a database that none has seen.
//
// row N3 (the start)
func TestReplicasStartSideBySide(t *testing.T) {
	dsn := storetest.DSN(t)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Go(func() {
			db, err := store.Open(t.Context(), dsn, store.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			defer db.Close()
			e, err := New(context.Background(), Options{Pool: db.Pool(), Executor: fmt.Sprint("e", i), Log: slog.New(slog.DiscardHandler)})
			if err == nil {
				err = errors.Join(e.Launch(), e.Close(time.Second))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}
