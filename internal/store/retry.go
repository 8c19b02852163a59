package store

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// Transient reports whether waiting may cure err: the server is away, restarting,
// full, read-only, out of connections, or two transactions met. A mistake of ours
// and the end of a context are not transient.
func Transient(err error) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return transientCode(pg.Code)
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) { // before errors of contexts: an attempt that timed out is the server's fault
		return !encryption(err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	return broken(err)
}

// transientCode judges by SQLSTATE. Class 53 (out of disk, memory or
// connections) and a read-only server are here because a person or a fail-over
// mends them while we wait; a wrong password or a missing database are not.
func transientCode(code string) bool {
	if conflict(code) || len(code) == 5 && (code[:2] == "08" || code[:2] == "53") {
		return true
	}
	switch code {
	case "57P01", "57P02", "57P03", "57P05", // shut down, crashed, starting up, idle too long
		"25006", "25P03", // read-only, idle in a transaction too long
		"58000", "58030": // the server's own machine: system and I/O errors
		return true
	}
	return false
}

// encryption tells a connection that can never be made, for its two ends do not
// agree about TLS or a certificate.
func encryption(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || strings.Contains(err.Error(), "refused TLS")
}

// conflict tells codes that mean "two met, go again at once"; the server is well.
func conflict(code string) bool {
	return code == "40001" || code == "40P01" || code == "55P03"
}

// broken tells whether the connection itself broke, under whatever name.
func broken(err error) bool {
	for _, known := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, syscall.ENOENT} {
		if errors.Is(err, known) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// The waits between tries: between nothing and a ceiling that doubles from the
// first to the last, so that callers that failed together do not return together.
const (
	firstWait = 50 * time.Millisecond
	lastWait  = 2 * time.Second
)

// Retry calls fn until it returns nil, an error that is not Transient, or ctx
// ends. what names the work in the error, such as "store the update". The log
// gets one line when the database goes away and one when it is back, however many
// callers wait. fn may run more than once, also after a commit whose answer was
// lost, so it must be harmless when done twice.
func (db *DB) Retry(ctx context.Context, what string, fn func(ctx context.Context) error) error {
	waiting := false
	for ceiling := firstWait; ; ceiling = min(2*ceiling, lastWait) {
		err := fn(ctx)
		if err == nil {
			db.outage.answered(waiting)
			return nil
		}
		if !Transient(err) {
			db.outage.gaveUp(waiting)
			return fmt.Errorf("%s: %w", what, err)
		}
		if !waiting && away(err) {
			waiting = true
			db.outage.failed(err)
		}
		select {
		case <-ctx.Done():
			db.outage.gaveUp(waiting)
			return fmt.Errorf("%s: %w (last answer: %w)", what, ctx.Err(), err)
		case <-time.After(rand.N(ceiling)):
		}
	}
}

// away tells a database that is not there from two transactions that met, which
// is everyday life and no line in the log.
func away(err error) bool {
	var pg *pgconn.PgError
	return !errors.As(err, &pg) || !conflict(pg.Code)
}

// outage is the one story of a DB's absence, told once however many callers live
// through it. It is over when a caller that waited gets an answer and no other is
// still waiting: with a full disk reads succeed all the while, and each of them
// must not announce the end.
type outage struct {
	log     *slog.Logger
	mu      sync.Mutex
	since   time.Time // zero: the database is there
	waiting int       // callers inside Retry that have met the outage
}

// failed notes a caller that has begun to wait.
func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting++
	if o.since.IsZero() {
		o.since = time.Now()
		o.log.Warn("the database does not do its part; nothing is lost, work waits and goes on by itself", "err", err)
	}
}

// answered notes that the database did its part for a caller.
func (o *outage) answered(waited bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if waited {
		o.waiting--
	}
	if o.waiting == 0 && !o.since.IsZero() {
		o.log.Info("the database is back; waiting work goes on", "ms", time.Since(o.since).Milliseconds())
		o.since = time.Time{}
	}
}

// gaveUp notes a caller that waits no longer, which says nothing of the database.
func (o *outage) gaveUp(waited bool) {
	if !waited {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting--
}
