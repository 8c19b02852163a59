package views

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"attache"
	"attache/internal/views/sql"
)

// value is an argument: JSON decoded with UseNumber, and the name it has.
type value struct {
	name string
	json any
}

// bind takes the values of a statement's parameters out of the arguments.
func bind(s sql.Statement, args map[string]any) ([]value, error) {
	out := make([]value, len(s.Params))
	for i, name := range s.Params {
		v, ok := args[name]
		if !ok {
			return nil, &attache.Error{Kind: attache.KindUsage, Say: fmt.Sprintf("argument %s is missing", name)}
		}
		if holdsNUL(v) {
			return nil, &attache.Error{Kind: attache.KindUsage, Say: fmt.Sprintf("argument %s holds the character NUL, which no text in a database can; leave it out", name)}
		}
		out[i] = value{name, v}
	}
	return out, nil
}

// holdsNUL looks for the one character that Postgres has no place for.
func holdsNUL(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, inner := range v {
			if holdsNUL(inner) {
				return true
			}
		}
	case map[string]any:
		for key, inner := range v {
			if holdsNUL(key) || holdsNUL(inner) {
				return true
			}
		}
	}
	return false
}

// oid is the type that a parameter has when nothing else says it.
func (v value) oid() uint32 {
	switch n := v.json.(type) {
	case bool:
		return pgtype.BoolOID
	case json.Number, float64, int64, int:
		if _, err := strconv.ParseInt(string(text(n)), 10, 64); err == nil {
			return pgtype.Int8OID
		}
		return pgtype.NumericOID
	case []any, map[string]any:
		return pgtype.JSONBOID
	}
	return pgtype.TextOID
}

// encode writes the values as Postgres reads text of their types. Only a list needs
// to know whether it is for an array or for JSON.
func (x *execution) encode(ctx context.Context, conn *pgconn.PgConn, oids []uint32) ([][]byte, error) {
	out := make([][]byte, len(x.values))
	for i, v := range x.values {
		list, isList := v.json.([]any)
		if isList && i < len(oids) {
			array, err := isArray(ctx, conn, oids[i])
			if err != nil {
				return nil, err
			}
			if array {
				out[i] = []byte(arrayOf(list))
				continue
			}
		}
		out[i] = text(v.json)
	}
	return out, nil
}

// isArray asks what a type is.
func isArray(ctx context.Context, conn *pgconn.PgConn, oid uint32) (bool, error) {
	answers, err := pipe(ctx, conn, []call{{
		sql:  `select typcategory = 'A' from pg_catalog.pg_type where oid = $1::pg_catalog.oid`,
		args: []string{strconv.FormatUint(uint64(oid), 10)},
	}})
	if err != nil {
		return false, err
	}
	result, err := answers[0].last()
	if err != nil || len(result.Rows) == 0 {
		return false, err
	}
	return string(result.Rows[0][0]) == "t", nil
}

// arrayOf writes a list as an array, lists in it as its further dimensions.
func arrayOf(list []any) string {
	items := make([]string, len(list))
	for i, item := range list {
		switch inner, ok := item.([]any); {
		case ok:
			items[i] = arrayOf(inner)
		case item == nil:
			items[i] = "NULL"
		default:
			one := arrayText([]string{string(text(item))})
			items[i] = one[1 : len(one)-1]
		}
	}
	return "{" + strings.Join(items, ",") + "}"
}

// text writes one value; nil is null.
func text(v any) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return []byte(v)
	case bool:
		return []byte(strconv.FormatBool(v))
	case json.Number:
		return []byte(whole(v.String()))
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return []byte("null") // what came from JSON goes back to it
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// whole writes 5.0 and 5e0, which JSON schema takes for integers, as Postgres reads
// an integer. Numbers without an end stay as they are.
func whole(number string) string {
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	if f, err := strconv.ParseFloat(number, 64); err != nil || f > 1e18 || f < -1e18 {
		return number
	}
	if len(number) > 40 {
		return number
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok || !r.IsInt() {
		return number
	}
	return r.Num().String()
}

// longestField is how many characters of a value a tool's result shows; the
// registry bounds the whole.
const longestField = 8000

// object writes a row as JSON, keys in the order of the columns. A name that stands
// twice gets a number, or a reader would see only one of the two.
func object(fields []pgconn.FieldDescription, values [][]byte) json.RawMessage {
	var b bytes.Buffer
	seen := map[string]bool{}
	b.WriteByte('{')
	for i, f := range fields {
		name := f.Name
		for n := 2; seen[name]; n++ {
			name = f.Name + "_" + strconv.Itoa(n)
		}
		seen[name] = true
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encoded(name))
		b.WriteByte(':')
		b.Write(printed(f.DataTypeOID, values[i]))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// printed gives a value as JSON: numbers, truths and JSON as such, everything else
// as the text that Postgres prints.
func printed(oid uint32, v []byte) []byte {
	switch {
	case v == nil:
		return []byte("null")
	case oid == pgtype.BoolOID:
		return []byte(strconv.FormatBool(string(v) == "t"))
	}
	s := brief(strings.ToValidUTF8(string(v), "\uFFFD"), longestField)
	switch oid {
	case pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID, pgtype.OIDOID, pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID, pgtype.JSONOID, pgtype.JSONBOID:
		if json.Valid([]byte(s)) { // not NaN, Infinity, or what was cut
			return []byte(s)
		}
	}
	return encoded(s)
}

// encoded writes a text as JSON without making < > and & unreadable.
func encoded(s string) []byte {
	list := text([]any{s})
	return list[1 : len(list)-1]
}
