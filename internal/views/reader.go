package views

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Options are the few knobs of a Reader and of an Executor.
type Options struct {
	Log       *slog.Logger  // nil: nothing is logged
	Statement time.Duration // most time of one view or statement; 0 is 2 s for a view and 10 s for a tool
	Total     time.Duration // most time of one Read or Run, waiting included; 0 is 5 s and 15 s

	// Look makes a Reader that changes nothing in the database, as a dry run needs it:
	// it makes no login and grants nothing, and reads as the owner in transactions
	// that can only read.
	Look bool
}

// filled puts the defaults in.
func (o Options) filled(statement, total time.Duration) Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Statement <= 0 {
		o.Statement = statement
	}
	if o.Total <= 0 {
		o.Total = total
	}
	return o
}

// ms writes a time as a setting of Postgres; it is never 0, which would be no limit.
func ms(d time.Duration) string { return fmt.Sprintf("%dms", max(d.Milliseconds(), 1)) }

// Reader reads state views over a login of its own that may do nothing else
// (architecture § 4, interface § 6). It is safe for many goroutines.
type Reader struct {
	login   login
	options Options

	mu      sync.Mutex
	allowed map[string]bool // the views that the brain names
	foreign []string        // those among them that the owner cannot grant
}

// OpenReader makes the login and its pool on the owner's database. It allows no
// view yet. An error means that the database did not answer; the lack of a right
// is none, see Warnings.
func OpenReader(ctx context.Context, owner *pgxpool.Pool, o Options) (*Reader, error) {
	o = o.filled(2*time.Second, 5*time.Second)
	r := &Reader{options: o, login: login{owner: owner, look: o.Look, settings: map[string]string{
		"default_transaction_read_only": "on",
		"statement_timeout":             ms(o.Statement),
		"lock_timeout":                  ms(o.Statement / 2),
	}}}
	if err := r.login.open(ctx, "views"); err != nil {
		return nil, fmt.Errorf("the login for state views: %w", err)
	}
	return r, nil
}

// Close ends the connections.
func (r *Reader) Close() { r.login.pool.Close() }

// Warnings says for the doctor why views are read with more rights than they
// should be, and which of them cannot be granted. Empty when all is well.
func (r *Reader) Warnings() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	if r.login.warning != "" {
		out = append(out, r.login.warning)
	}
	for _, view := range r.foreign {
		out = append(out, fmt.Sprintf("the view %s belongs to another login, so the reader cannot be let in; its owner can run: grant select on public.%s to %s", view, quoted(view), r.login.role))
	}
	return out
}

// Allow names the views that may be read from now on, and no others: all that the
// contexts and roles of the brain name. The login is granted exactly these. It is
// called when the set may have changed, and costs nothing when it has not. A view
// that is made later, or dropped and made anew, is granted by the Read that finds
// it so.
func (r *Reader) Allow(ctx context.Context, views []string) error {
	wanted := map[string]bool{}
	for _, v := range views {
		wanted[v] = true
	}
	r.mu.Lock()
	same := r.allowed != nil && len(wanted) == len(r.allowed)
	for v := range wanted {
		same = same && r.allowed[v]
	}
	r.allowed = wanted
	r.mu.Unlock()
	if same {
		return nil
	}
	return r.grant(ctx)
}

// grant brings the login's grants to what is allowed.
func (r *Reader) grant(ctx context.Context) error {
	if !r.login.own {
		return nil
	}
	r.mu.Lock()
	var names []string
	for v := range r.allowed {
		if named(v) {
			names = append(names, v)
		}
	}
	r.mu.Unlock()
	slices.Sort(names)
	var foreign []string
	err := r.login.sql(ctx, func(tx pgx.Tx) error {
		give, take, others, err := r.differences(ctx, tx, names)
		foreign = others
		if err != nil || len(give)+len(take) == 0 {
			return err
		}
		role := quoted(r.login.role)
		if len(take) > 0 {
			if _, err := tx.Exec(ctx, `revoke all on `+relations(take)+` from `+role); err != nil {
				return err
			}
		}
		if len(give) > 0 {
			_, err = tx.Exec(ctx, `grant select on `+relations(give)+` to `+role)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the rights of the login for state views: %w", err)
	}
	r.mu.Lock()
	r.foreign = foreign
	r.mu.Unlock()
	return nil
}

// lacks reports whether a view that the login may read is out of its reach for a
// reason that a grant mends.
func (r *Reader) lacks(found map[string]columns) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for view, c := range found {
		if !c.readable && !slices.Contains(r.foreign, view) {
			return true
		}
	}
	return false
}

// differences tells which relations of public the login lacks, which it has and
// should not, and which of the wanted ones the owner cannot give.
func (r *Reader) differences(ctx context.Context, tx pgx.Tx, names []string) (give, take, foreign []string, err error) {
	rows, err := tx.Query(ctx, `
		select c.relname::text, c.relname::text = any($2) as wanted, has_table_privilege(g.oid, c.oid, 'select') as has,
			pg_has_role(c.relowner, 'usage') as ours,
			exists (select from aclexplode(c.relacl) a where a.grantee = g.oid) as given
		from pg_class c join pg_roles g on g.rolname = $1
		where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f')
			and (c.relname::text = any($2) or exists (select from aclexplode(c.relacl) a where a.grantee = g.oid))
		order by c.relname`, r.login.role, names)
	if err != nil {
		return nil, nil, nil, err
	}
	var name string
	var wanted, has, ours, given bool
	_, err = pgx.ForEachRow(rows, []any{&name, &wanted, &has, &ours, &given}, func() error {
		switch {
		case !wanted && given:
			take = append(take, name)
		case wanted && !has && ours:
			give = append(give, name)
		case wanted && !has:
			foreign = append(foreign, name)
		}
		return nil
	})
	return give, take, foreign, err
}

// named reports whether a text can be the name of a view or a column at all.
// Postgres cuts a longer one, and so would read another view.
func named(s string) bool {
	return s != "" && len(s) <= 63 && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}

// quoted writes a name for a statement.
func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

// relations writes names of public for a statement.
func relations(names []string) string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = "public." + quoted(name)
	}
	return strings.Join(out, ", ")
}
