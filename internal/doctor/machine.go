package doctor

import (
	"context"
	"fmt"
	"io/fs"
	"time"

	"attache/internal/tools"
)

// SecretFile is a file that a variable NAME_FILE names (interface § 2).
type SecretFile struct {
	Variable, Path string
	Mode           fs.FileMode
}

// lowDisk is how little room is too little: the database and its log need some to
// take what comes in.
const lowDisk = 1 << 30

// machine looks at the disk and at the files of secrets.
func (s Subject) machine() []Finding {
	var out []Finding
	if s.Free != nil {
		if free, err := s.Free(); err == nil && free < lowDisk {
			out = append(out, Finding{Level: Warn, Check: "Disk", What: fmt.Sprintf("%d MiB are free where %s lies", free>>20, s.Folder),
				Do: "make room: when it is full nothing is taken in any more"})
		}
	}
	for _, f := range s.Secrets {
		if f.Mode.Perm()&0o007 != 0 {
			out = append(out, Finding{Level: Warn, Check: "Secrets", What: fmt.Sprintf("everybody on this machine may read or change %s, which %s names", f.Path, f.Variable), Do: "run: chmod 600 " + f.Path})
		}
	}
	return out
}

// oldest is the oldest version of Postgres that is good enough, as it numbers them.
const oldest = 150000

// database looks at the database itself, and at what is recorded there.
func (s Subject) database(ctx context.Context) []Finding {
	if s.DB == nil {
		f := s.Gap
		f.Check = "Database"
		return append(s.views(ctx), f)
	}
	since := s.Now().Add(-window)
	out := s.server(ctx)
	out = append(out, s.views(ctx)...)
	out = append(out, deliveries(ctx, s.DB, since)...)
	out = append(out, s.turns(ctx, since)...)
	out = append(out, s.moves(ctx)...)
	return append(out, s.fires(ctx)...)
}

// server asks the database for its version, its rights and its time.
func (s Subject) server(ctx context.Context) []Finding {
	var version int
	var user string
	var roles bool
	var clock time.Time
	before := s.Now()
	err := s.DB.Pool().QueryRow(ctx, `select current_setting('server_version_num')::int, current_user::text,
		coalesce((select rolsuper or rolcreaterole from pg_roles where rolname = current_user), false), clock_timestamp()`).Scan(&version, &user, &roles, &clock)
	if err != nil {
		return unread("Database", "its version and rights", err)
	}
	out := apart("the database's", clock, before, s.Now())
	if version < oldest {
		out = append(out, Finding{Level: Fail, Check: "Database", What: fmt.Sprintf("this is Postgres %d, and 15 or newer is needed", version/10000), Do: "use a newer server"})
	}
	if !roles && s.needsRoles() {
		out = append(out, Finding{Level: Warn, Check: "Database",
			What: fmt.Sprintf("the login %s may not create roles, so the brain's SQL runs with its rights and can read what it can read", user),
			Do:   fmt.Sprintf("run: alter role %q createrole", user)})
	}
	return out
}

// needsRoles reports whether the brain has SQL that is to run under a login of its own.
func (s Subject) needsRoles() bool {
	found, _ := tools.SQLTools(s.Brain.Tree, nil)
	return len(found) > 0 || len(namings(s.Brain)) > 0
}
