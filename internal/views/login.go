package views

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"attache"
)

// SQLSTATEs that decide something here.
const (
	noRight       = "42501" // insufficient privilege
	wrongPassword = "28P01"
	notLetIn      = "28000" // pg_hba.conf names no way in
	cancelled     = "57014" // also a statement's time limit
	locked        = "55P03"
	readOnly      = "25006"
)

// code gives the SQLSTATE of an error, "" when it is none of the server's.
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// login is a role of our own in the owner's database and the pool that uses it.
// Where there is no such role the pool uses the owner's login.
type login struct {
	owner    *pgxpool.Pool
	role     string // attache_views_… or attache_tools_…
	password attache.Secret
	settings map[string]string // of each session, beside the common ones
	look     bool              // make no role, use the owner's login

	pool    *pgxpool.Pool
	own     bool   // whether the role is used
	warning string // why it is not
}

// open makes the role if it can, and a pool that works. An error means that the
// database itself did not answer.
func (l *login) open(ctx context.Context, kind string) error {
	var database string
	if err := l.owner.QueryRow(ctx, `select current_database()`).Scan(&database); err != nil {
		return err
	}
	// Roles belong to the whole server and the grants to one database, so each
	// database has roles of its own.
	sum := sha256.Sum256([]byte(database))
	l.role = "attache_" + kind + "_" + hex.EncodeToString(sum[:5])
	if l.look {
		return l.connect(ctx, false)
	}
	l.password = l.makePassword()
	err := l.ensure(ctx)
	if err == nil {
		err = l.connect(ctx, true)
	}
	if err == nil {
		l.own = true
		return nil
	}
	if !refusedRole(err) {
		return err
	}
	l.warning = l.whyNot(err)
	return l.connect(ctx, false)
}

// errRole is a role that stands already and may more than it should.
var errRole = errors.New("the role has rights that it must not have")

// refusedRole tells reasons for doing without the role from a database that is away.
func refusedRole(err error) bool {
	if errors.Is(err, errRole) {
		return true
	}
	c := code(err)
	return c == noRight || c == wrongPassword || c == notLetIn || c == "0LP01" || c == "0A000" || c == "42704"
}

// whyNot is the doctor's line on a login that is not used.
func (l *login) whyNot(err error) string {
	user := l.owner.Config().ConnConfig.User
	switch {
	case errors.Is(err, errRole):
		return fmt.Sprintf("the role %s has more rights than it must have, so it is not used and %s is; drop it: drop owned by %s; drop role %s", l.role, user, l.role, l.role)
	case code(err) == noRight:
		return fmt.Sprintf("the login %s may not create roles, so the brain's SQL runs with its rights and can read what it can read; run: alter role %s createrole", user, pgx.Identifier{user}.Sanitize())
	}
	return fmt.Sprintf("the database does not let in the role %s, so the brain's SQL runs with the rights of %s; let it in by the same line of pg_hba.conf, with a password", l.role, user)
}

// makePassword derives the password from the owner's own where there is one, so
// that replicas agree on it and nobody stores it; else nobody needs it but this
// process.
func (l *login) makePassword() attache.Secret {
	own := l.owner.Config().ConnConfig.Password
	if own == "" {
		return attache.NewSecret(rand.Text())
	}
	mac := hmac.New(sha256.New, []byte(own))
	mac.Write([]byte("attache\x00" + l.role))
	return attache.NewSecret(base64.RawURLEncoding.EncodeToString(mac.Sum(nil)))
}

// verifier is what the server keeps of a password (RFC 5803). It is made here, so
// that the password is in no statement that a server may log.
func verifier(password string) (string, error) {
	const rounds = 4096
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil {
		return "", err
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return "", err
	}
	mac := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	stored := sha256.Sum256(mac(salted, "Client Key"))
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", rounds, b64(salt), b64(stored[:]), b64(mac(salted, "Server Key"))), nil
}

// ensure makes the role, or gives the one that stands there our password. A role
// of that name which somebody gave rights to is not used.
func (l *login) ensure(ctx context.Context) error {
	secret, err := verifier(l.password.Reveal())
	if err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, l.owner, func(tx pgx.Tx) error {
		var there, risky bool
		err := tx.QueryRow(ctx, `
			select r.oid is not null, coalesce(r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls
				or exists (select from pg_catalog.pg_auth_members m where m.member = r.oid), false)
			from pg_catalog.pg_advisory_xact_lock($2, $3) left join pg_catalog.pg_roles r on r.rolname = $1`,
			l.role, lockSpace, lockRoles).Scan(&there, &risky)
		if err != nil || risky {
			return cmp.Or(err, errRole)
		}
		name := pgx.Identifier{l.role}.Sanitize()
		if !there {
			if _, err := tx.Exec(ctx, `create role `+name+` login noinherit`); err != nil {
				return err
			}
		}
		_, err = tx.Exec(ctx, `alter role `+name+` login password '`+secret+`'`)
		for _, setting := range slices.Sorted(maps.Keys(l.settings)) {
			if err == nil {
				_, err = tx.Exec(ctx, `alter role `+name+` set `+setting+` = '`+l.settings[setting]+`'`)
			}
		}
		return err
	})
}

// The two numbers of an advisory lock of this package.
const (
	lockSpace = 0x76696577 // "view"
	lockRoles = 1
)

// connect makes the pool and looks whether it gets in.
func (l *login) connect(ctx context.Context, own bool) error {
	config := l.owner.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = 4, 0, 0
	config.MaxConnIdleTime = 5 * time.Minute
	config.BeforeConnect, config.AfterConnect, config.PrepareConn, config.AfterRelease = nil, nil, nil, nil
	config.BeforeClose, config.ShouldPing = nil, nil
	params := map[string]string{
		"application_name": strings.ReplaceAll(l.role[:len("attache_views")], "_", " "),
		"search_path":      "public", // the owner's own may hold schema attache, by its name
		// How values print, and how strings are read, whatever the server's file says.
		"client_encoding": "UTF8", "standard_conforming_strings": "on", "datestyle": "ISO, YMD", "intervalstyle": "postgres",
		"extra_float_digits": "1", "bytea_output": "hex", "jit": "off",
		"idle_in_transaction_session_timeout": "60s",
	}
	maps.Copy(params, l.settings)
	config.ConnConfig.RuntimeParams = params // and not those of the owner, which may name a role
	if own {
		config.ConnConfig.User, config.ConnConfig.Password = l.role, l.password.Reveal()
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return err
	}
	l.pool = pool
	return nil
}

// acquire borrows a connection. A replica that knows another password may have set
// its own meanwhile; then ours is set again.
func (l *login) acquire(ctx context.Context) (*pgxpool.Conn, error) {
	conn, err := l.pool.Acquire(ctx)
	if !l.own || code(err) != wrongPassword {
		return conn, err
	}
	if err := l.ensure(ctx); err != nil {
		return nil, err
	}
	return l.pool.Acquire(ctx)
}

// sql runs work on the owner's connection in one transaction that no other process
// of ours meets.
func (l *login) sql(ctx context.Context, work func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, l.owner, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `select pg_catalog.pg_advisory_xact_lock($1, $2)`, lockSpace, lockRoles); err != nil {
			return err
		}
		return work(tx)
	})
}
