// Package sql understands the SQL that a brain's author writes: it reads the one
// statement of a SQL tool, and applies each feature's schema.sql.
//
// The SQL itself is the author's, and runs as it stands. What this package adds is
// that nothing of it is taken for something else: where strings, comments and names
// end is decided exactly as Postgres does, a statement is one statement, a schema
// is applied whole or not at all and takes no data away, and what is wrong is told
// with its line and column.
//
// The package owns the table attache.schemas.
package sql

import (
	"embed"
	"io/fs"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations gives the files of the package's own table, for the owner's
// store.DB.Migrate under the name "views". They must have run before Apply.
func Migrations() fs.FS { return migrations }
