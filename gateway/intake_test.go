package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"attache"
)

// logged is a log that is read while it is written.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
	also io.Writer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	return l.also.Write(b)
}

func (l *logged) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), part)
}

// A table that is not there, or may not be written, is no fault of a message: it waits,
// whatever else comes, and is answered when the table is back. The log does not fill.
func TestAFaultOfOurOwnLosesNoMessage(t *testing.T) {
	for name, c := range map[string]struct{ breaks, heals string }{
		"schema": {`alter table attache.turns rename to away`, `alter table attache.away rename to turns`},
		"rights": {`create function attache.no() returns trigger language plpgsql as $$ begin raise insufficient_privilege; end $$;
			create trigger no before insert on attache.messages execute function attache.no()`, `drop trigger no on attache.messages`},
	} {
		t.Run(name, func(t *testing.T) {
			log := &logged{also: t.Output()}
			w := newWorld(t, func(w *world) { w.log = log })
			exec := func(sql string) {
				t.Helper()
				if _, err := w.db.Pool().Exec(t.Context(), sql); err != nil {
					t.Fatal(err)
				}
			}
			exec(c.breaks)
			w.say(msg(5, 1, "first"))
			w.until("it was tried", func() bool { return log.count("updates could not be handled") == 1 })
			for id := range 20 {
				w.say(msg(6, attache.MessageID(id+1), fmt.Sprint("other ", id)))
			}
			in := &intake{g: w.g, bot: Bot{ID: "nova", Decode: decode, Judge: w.judge}}
			for range 3 {
				if n, err := in.some(t.Context()); err == nil || n != 0 {
					t.Fatalf("%d are handled, %v", n, err)
				}
			}
			if n := w.count(`select count(*) from attache.updates where state = 'new'`); n != 21 {
				t.Fatalf("%d updates wait, want 21", n)
			}
			if name == "schema" {
				w.until("the sweep was tried", func() bool { return log.count("the sweep of turns did not end well") > 0 })
				if err := w.g.sweep(t.Context()); err == nil {
					t.Error("the sweep ends well without its table")
				}
			}
			exec(c.heals)
			w.say(msg(5, 2, "second"))
			w.until("all are answered", func() bool {
				return w.count(`select count(*) from attache.updates where state = 'handled'`) == 22 && w.count(`select count(*) from attache.turns where state <> 'answered'`) == 0
			})
			all := strings.Join(w.m.Texts(t, 2), "+")
			for _, words := range []string{"first", "second", "other 0", "other 19"} {
				if strings.Count(all, words) != 1 {
					t.Errorf("%q is not answered once: %s", words, all)
				}
			}
			for part, most := range map[string]int{"updates could not be handled": 4, "the sweep of turns did not end well": 1, "was set aside": 0} {
				if n := log.count(part); n > most {
					t.Errorf("%d times in the log: %s", n, part)
				}
			}
		})
	}
}

func TestWhoseFaultAnErrorIs(t *testing.T) {
	for code, want := range map[string]bool{"22P05": true, "23505": true, "54000": true, "42P01": false, "42501": false, "57014": false, "XX000": false, "": false} {
		if got := ofTheData(fmt.Errorf("settling: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s is of the data: %v", code, got)
		}
	}
	for _, err := range []error{&pgconn.ConnectError{}, context.DeadlineExceeded} {
		if ofTheData(err) {
			t.Errorf("%v is of the data", err)
		}
	}
	if !ofTheData(errors.New("a time of the year 300000 cannot be written")) || slices.Contains([]bool{ofTheData(&pgconn.PgError{Code: "4"})}, true) {
		t.Error("an error that is not the database's is the data's, and no code is none")
	}
}
