package attache

import (
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
	"unique"
)

// Problem is one mistake in a file that a person wrote: where it is, what is
// wrong and what to do. It is an error, so loaders can return and join it.
type Problem struct {
	File string `json:"file"` // path from the brain's root, forward slashes
	Line int    `json:"line"` // from 1
	Col  int    `json:"col"`  // from 1
	What string `json:"what"` // what is wrong, one clause without a full stop
	Do   string `json:"do"`   // what to do about it, one clause
}

// Error gives "file:line:col: what; what to do".
func (p Problem) Error() string {
	s := p.Where() + ": " + p.What
	if p.Do != "" {
		s += "; " + p.Do
	}
	return s
}

// Where gives "file:line:col". A file whose name has characters that do not show, such
// as a line feed, is quoted, so that a problem stays on one line.
func (p Problem) Where() string {
	file := p.File
	if strings.ContainsFunc(file, func(r rune) bool { return !unicode.IsPrint(r) }) || !utf8.ValidString(file) {
		file = strconv.Quote(file)
	}
	return fmt.Sprintf("%s:%d:%d", file, max(p.Line, 1), max(p.Col, 1))
}

// ErrorKind tells code what to do about an Error.
type ErrorKind string

// The kinds of an Error.
const (
	KindUsage    ErrorKind = "usage"    // the caller's words are wrong: exit 2
	KindRefused  ErrorKind = "refused"  // a right, a pin or a rule says no
	KindNotFound ErrorKind = "notfound" // no such thing
	KindOutside  ErrorKind = "outside"  // Telegram, the model or the database did not do its part
	KindInternal ErrorKind = "internal" // a mistake of ours
)

// Error has two readers: Kind is for code, Say is the one sentence a person may
// see, Cause is for the operator's log only.
type Error struct {
	Kind  ErrorKind
	Say   string
	Cause error
}

// Error gives the sentence and the cause, for logs.
func (e *Error) Error() string {
	if e.Cause == nil {
		return e.Say
	}
	return e.Say + ": " + e.Cause.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Sentence gives what a person may be told of err: the sentence of an Error, or a
// general one that gives nothing away.
func Sentence(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Say
	}
	return "something went wrong here; the log has the detail"
}

// Secret is a token or a key. It prints as "[secret]", and inside of another
// value at worst as an address; only Reveal gives the value, for the one call that
// needs it. The zero value is no secret at all.
type Secret struct {
	// A handle, because fmt looks through unexported fields without asking their
	// methods and stops at the pointer in it. Equal secrets have equal handles.
	value unique.Handle[string]
}

// NewSecret hides a value.
func NewSecret(value string) Secret {
	if value == "" {
		return Secret{}
	}
	return Secret{unique.Make(value)}
}

// Reveal gives the hidden value.
func (s Secret) Reveal() string {
	if s.Empty() {
		return ""
	}
	return s.value.Value()
}

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s == Secret{} }

// String hides the value from fmt.
func (s Secret) String() string { return "[secret]" }

// GoString hides the value from %#v.
func (s Secret) GoString() string { return "[secret]" }

// LogValue hides the value from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// MarshalText hides the value from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte("[secret]"), nil }
