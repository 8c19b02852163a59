package updates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"attache"
)

func idsOf(updates []attache.RawUpdate) string {
	var out []string
	for _, u := range updates {
		out = append(out, fmt.Sprint(u.ID))
	}
	return strings.Join(out, " ")
}

// row L1
func TestSplitUpdates(t *testing.T) {
	tests := map[string]struct {
		result, ids string
		problems    int
	}{
		"none":                  {`[]`, "", 0},
		"three":                 {`[{"update_id":5},{"update_id":6,"message":{}},{"update_id":8}]`, "5 6 8", 0},
		"hostile in the middle": {`[{"update_id":5},{"update_id":"6"},{"message":{}},7,null,"x",[],{"update_id":-1},{"update_id":1e3},{"update_id":9223372036854775807},{"update_id":8}]`, "5 8", 9},
		"undecodable but known": {`[{"update_id":5,"message":"what"},{"update_id":6,"message":{"message_id":[]}}]`, "5 6", 0},
		"twice":                 {`[{"update_id":5},{"update_id":5},{"update_id":6}]`, "5 6", 0},
		"numbering restarted":   {`[{"update_id":900},{"update_id":12}]`, "900 12", 0},
		"no list":               {`{"update_id":5}`, "", 1},
		"null":                  {`null`, "", 1},
		"cut":                   {`[{"update_id":5},{"upd`, "", 1},
		"empty":                 {``, "", 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			updates, problems := split([]byte(test.result))
			if idsOf(updates) != test.ids || len(problems) != test.problems {
				t.Errorf("got %q, %v", idsOf(updates), problems)
			}
		})
	}
}

func TestUpdateID(t *testing.T) {
	tests := map[string]int64{
		`{"update_id":7}`: 7,
		`{"message":{"update_id":3},"update_id":7}`:      7,
		`{"update_id":7,"message":{"text":"cut her`:      7,
		`{"message":{"a":[1,2]},"update_id":7,"x":{`:     7,
		`{"message":{"update_id":7`:                      0,
		`{"update_id":7.0}`:                              0,
		`{"update_id":null}`:                             0,
		`{"update_id":0}`:                                0,
		`{"update_id":4503599627370496,"message":false}`: 4503599627370496,
		`{"update_id":4503599627370497}`:                 0,
		`<html>`:                                         0,
		``:                                               0,
	}
	for raw, want := range tests {
		if id, ok := updateID([]byte(raw)); ok != (want != 0) || ok && id != want {
			t.Errorf("%s: %d, %v", raw, id, ok)
		}
	}
}

func TestStorable(t *testing.T) {
	deep := `{"update_id":7,"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`
	tests := map[string]struct{ raw, want string }{
		"as it is":           {`{"update_id":7,"t":"a\ud83d\ude00\n\"\\u0000\u00e9","n":[-1.5e-05,12]}`, `{"update_id":7,"t":"a\ud83d\ude00\n\"\\u0000\u00e9","n":[-1.5e-05,12]}`},
		"NUL":                {`{"t":"a\u0000b\u0000"}`, `{"t":"a\ufffdb\ufffd"}`},
		"NUL in a name":      {`{"\u0000":1}`, `{"\ufffd":1}`},
		"high alone":         {`{"t":"\ud83dx"}`, `{"t":"\ufffdx"}`},
		"high at the end":    {`{"t":"\uD83D"}`, `{"t":"\ufffd"}`},
		"low alone":          {`{"t":"\ude00"}`, `{"t":"\ufffd"}`},
		"two highs":          {`{"t":"\ud83d\ud83d\ude00"}`, `{"t":"\ufffd\ud83d\ude00"}`},
		"wrong way round":    {`{"t":"\ude00\ud83d"}`, `{"t":"\ufffd\ufffd"}`},
		"high, other escape": {`{"t":"\ud83d\n"}`, `{"t":"\ufffd\n"}`},
		"no UTF-8":           {"{\"t\":\"a\xff\"}", "{\"t\":\"a\uFFFD\"}"},
		"huge exponent":      {`{"n":1e999999,"m":-2E+99999}`, `{"n":0,"m":0}`},
		"endless number":     {`{"n":` + strings.Repeat("9", 200000) + `}`, `{"n":0}`},
		"digits in a text":   {`{"n":"1e999999"}`, `{"n":"1e999999"}`},
		"deep":               {deep, ""},
		"cut":                {`{"update_id":7,"t":"a`, `{"update_id":7,"undecodable":"{\"update_id\":7,\"t\":\"a"}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := string(storable(7, []byte(test.raw)))
			if test.want != "" && got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if !json.Valid([]byte(got)) || depth([]byte(got)) > maxDepth {
				t.Errorf("not storable: %.200s", got)
			}
		})
	}
}

func FuzzSplitUpdates(f *testing.F) {
	f.Add([]byte(`[{"update_id":5,"t":"\u0000\ud83d\ude00\ude00"},{"update_id":6,"n":1e9999}]`))
	f.Add([]byte(`[{"update_id":5},[[[[]]]],null]`))
	f.Fuzz(func(t *testing.T, result []byte) {
		updates, _ := split(result)
		one, ok := rawUpdate(result) // as the webhook reads it
		if ok {
			updates = append(updates, one)
		}
		for _, u := range updates {
			if !json.Valid(u.JSON) || !utf8.Valid(u.JSON) || u.ID <= 0 || u.ID > maxUpdateID {
				t.Fatalf("not storable: %d %q", u.ID, u.JSON)
			}
			if id, ok := updateID(u.JSON); !ok || id != u.ID {
				t.Errorf("the id %d became %d in %q", u.ID, id, u.JSON)
			}
			if again := storable(u.ID, u.JSON); !bytes.Equal(again, u.JSON) {
				t.Errorf("mended twice differs: %q %q", u.JSON, again)
			}
		}
	})
}

func BenchmarkSplitUpdates(b *testing.B) {
	one := string(benchUpdate())
	result := []byte("[" + strings.Repeat(one+",", 99) + one + "]")
	b.SetBytes(int64(len(result)))
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := split(result); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}
