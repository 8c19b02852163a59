// Package views runs the SQL that a brain brings along: the state views that ride
// with a turn, and the statements of SQL tools.
//
// None of it runs as the program itself. Views are read over a login that may
// select from the views which the brain names and from nothing else; statements of
// tools run over a second one, which may change rows of the features' tables and
// nothing of schema attache or dbos (architecture § 4). Where the owner may not
// create logins both fall back to the owner's own, each in a narrower transaction,
// and say so for the doctor.
//
// What comes from files (names of views and columns, statements) is quoted here or
// parsed by the package sql below, and comes from the brain's author. What comes
// from people (entity keys, arguments) is always a bound parameter. What comes back
// is data: values as Postgres prints them, cut at a length, for others to escape.
//
// The package owns the two roles and no table.
package views
