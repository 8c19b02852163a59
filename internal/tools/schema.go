package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"attache"

	"github.com/google/jsonschema-go/jsonschema"
)

// Make completes a tool whose arguments are a Go struct: it infers the schema and
// reads the arguments of each call before run is called.
func Make[A any](t attache.Tool, run func(ctx context.Context, c attache.Call, args A) attache.Result) attache.Tool {
	t.Schema = Schema[A]()
	t.Run = func(ctx context.Context, c attache.Call) attache.Result {
		var args A
		d := json.NewDecoder(bytes.NewReader(arguments(c.Args)))
		d.DisallowUnknownFields()
		if err := d.Decode(&args); err != nil {
			return attache.Refused(t.Name + " was not run: " + unreadable(err))
		}
		return run(ctx, c, args)
	}
	return t
}

// unreadable is the sentence on arguments that fit their schema and not their Go
// type: 1.0 is an integer to a schema, and so is a number of 30 digits.
func unreadable(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("argument %s is %s; write it as a plain number without fraction or exponent", wrong.Field, shown(wrong.Value))
	}
	return err.Error()
}

// Schema infers the JSON schema of a struct's fields, as bytes that are the same in
// every process: properties stand in the order of the fields, names are those of
// the json tags, and nothing but them is allowed. A field without omitempty or
// omitzero is required; a tag `jsonschema:"…"` describes it to the model.
//
// A slice, map or pointer never takes null, although encoding/json does: a field
// that is not wanted is left out, and several servers refuse a schema with two
// types where one will do.
//
// A type that has no schema is a programmer's mistake and panics.
func Schema[A any]() json.RawMessage {
	s, err := jsonschema.For[A](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Chat]():   {Types: []string{"string", "integer"}},
		reflect.TypeFor[Thread](): {Types: []string{"string", "integer"}},
	}})
	if err != nil {
		panic(fmt.Sprintf("tools.Schema: %v", err))
	}
	withoutNull(s)
	b, err := json.Marshal(s)
	if err != nil || s.Type != "object" {
		panic(fmt.Sprintf("tools.Schema: %T is no struct that has a schema (%v)", *new(A), err))
	}
	return b
}

// withoutNull takes null out of every list of types.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	switch len(s.Types) {
	case 0:
		s.Types = nil
	case 1:
		s.Type, s.Types = s.Types[0], nil
	}
	for _, inner := range s.Properties {
		withoutNull(inner)
	}
	withoutNull(s.Items)
	withoutNull(s.AdditionalProperties)
}

// Chat is an argument that names a chat: "tg:chat:-1001", or the number alone as
// text or number (interface § 3, Addresses). 0 is an argument that was left out.
type Chat attache.ChatID

// UnmarshalJSON reads any of the forms.
func (c *Chat) UnmarshalJSON(b []byte) error {
	id, err := attache.ParseChat(bare(b))
	*c = Chat(id)
	return err
}

// Thread is an argument that names a topic by its number, as text or number. 0 is
// General, so an argument that may be left out is a *Thread.
type Thread attache.ThreadID

// generalThread is Telegram's own number of General (decisions § 7.2).
const generalThread = 1

// UnmarshalJSON reads either form.
func (t *Thread) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(bare(b), 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a thread; write the topic's number, or 0 for General", shown(bare(b)))
	}
	if n == generalThread {
		n = 0
	}
	*t = Thread(n)
	return nil
}

// bare gives the text of a JSON string, or a number as it is written.
func bare(b []byte) string {
	var s string
	if json.Unmarshal(b, &s) == nil {
		return s
	}
	return string(b)
}
