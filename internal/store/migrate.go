package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// oldestServer is the lowest server_version_num we speak to (architecture § 4).
const oldestServer = 150000

// migration is one file of an owner.
type migration struct {
	number   int
	name     string // file name, 0001_turns.sql
	sql      string
	checksum string // hex SHA-256 of sql
}

// Migrate brings one owner's tables up to date: every *.sql below files, in whatever
// folder an embedded file system has them, named 0001_words.sql and numbered without
// gaps, is run once, in order, each in a transaction of its own together with its row
// in attache.migrations. Several processes may do this at once. A file that was applied and has changed since is
// an error: a database that differs from what the code believes is worse than a
// program that does not start. When nothing is to do this is one query.
func (db *DB) Migrate(ctx context.Context, owner string, files fs.FS) error {
	all, err := readMigrations(files)
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", owner, err)
	}
	applied, err := appliedMigrations(ctx, db.pool, owner)
	if code(err) == "42P01" { // no table yet
		applied, err = nil, db.prepare(ctx)
	}
	if err != nil {
		return fmt.Errorf("migrations of %s: %w", owner, err)
	}
	if err := sameMigrations(all, applied); err != nil {
		return fmt.Errorf("migrations of %s: %w", owner, err)
	}
	for _, m := range all[len(applied):] {
		if err := db.apply(ctx, owner, m); err != nil {
			return fmt.Errorf("migration %s of %s: %w", m.name, owner, err)
		}
	}
	return nil
}

// migrationName is the form of a file's name.
var migrationName = regexp.MustCompile(`^(\d{4})_[a-z0-9_]+\.sql$`)

// readMigrations reads and checks the files of one owner, sorted by number.
func readMigrations(files fs.FS) ([]migration, error) {
	var all []migration
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".sql" {
			return err
		}
		parts := migrationName.FindStringSubmatch(path.Base(file))
		if parts == nil {
			return fmt.Errorf("%s: the name must look like 0001_words.sql", file)
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		number, _ := strconv.Atoi(parts[1]) // four digits
		all = append(all, newMigration(number, path.Base(file), string(text)))
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b migration) int { return a.number - b.number })
	for i, m := range all {
		if m.number != i+1 {
			return nil, fmt.Errorf("%s stands where number %04d is due; numbers begin at 0001 and have no gaps", m.name, i+1)
		}
	}
	return all, nil
}

// newMigration takes line ends out of the checksum, which a checkout on another
// system may have changed.
func newMigration(number int, name, sql string) migration {
	sql = strings.ReplaceAll(sql, "\r\n", "\n")
	sum := sha256.Sum256([]byte(sql))
	return migration{number, name, sql, hex.EncodeToString(sum[:])}
}

// querier is what the pool and a transaction have in common.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// appliedMigrations gives the checksums of an owner's applied files in order.
func appliedMigrations(ctx context.Context, q querier, owner string) ([]string, error) {
	rows, err := q.Query(ctx, `select checksum from attache.migrations where owner = $1 order by number`, owner)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// sameMigrations checks that what was applied is what the files say today.
func sameMigrations(all []migration, applied []string) error {
	if len(applied) > len(all) {
		return fmt.Errorf("the database has %d applied and this program knows %d; it was used by a newer attache, run that one", len(applied), len(all))
	}
	for i, sum := range applied {
		if all[i].checksum != sum {
			return fmt.Errorf("%s was changed after it had been applied to this database; put the old text back and write the change as a new file", all[i].name)
		}
	}
	return nil
}

// migrationLock is held by whoever changes the schema, to the end of its transaction.
var migrationLock = lockKey("migrate", "")

// prepare makes the schema and the table of migrations, once in a database's life.
func (db *DB) prepare(ctx context.Context) error {
	return db.InTx(ctx, func(tx Tx) error {
		var version int
		err := tx.QueryRow(ctx, `select current_setting('server_version_num')::int from pg_advisory_xact_lock($1)`, migrationLock).Scan(&version)
		if err != nil {
			return err
		}
		if version < oldestServer {
			return fmt.Errorf("the server is Postgres %d and 15 is the oldest that works; point DATABASE_URL at a newer one", version/10000)
		}
		_, err = tx.Exec(ctx, `
			create schema if not exists attache;
			create table if not exists attache.migrations (
				owner    text        not null,
				number   int         not null,
				checksum text        not null,
				at       timestamptz not null default now(),
				primary key (owner, number)
			)`)
		if code(err) == "42501" {
			return fmt.Errorf("this login may not create the schema attache; run: grant create on database … to … (%w)", err)
		}
		return err
	})
}

// apply runs one file, unless another process has done so since we looked.
func (db *DB) apply(ctx context.Context, owner string, m migration) error {
	return db.InTx(ctx, func(tx Tx) error {
		if _, err := tx.Exec(ctx, `select pg_advisory_xact_lock($1)`, migrationLock); err != nil {
			return err
		}
		applied, err := appliedMigrations(ctx, tx, owner)
		if err != nil {
			return err
		}
		if len(applied) >= m.number {
			return sameMigrations([]migration{m}, applied[m.number-1:m.number])
		}
		if _, err := tx.Exec(ctx, m.sql); err != nil { // no arguments: many statements are allowed
			return err
		}
		_, err = tx.Exec(ctx, `insert into attache.migrations (owner, number, checksum) values ($1, $2, $3)`, owner, m.number, m.checksum)
		return err
	})
}

// code gives the SQLSTATE of an error, "" when it is none of the server's.
func code(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}
