package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"attache"
)

// maxResult is the most bytes of a result, about 10,000 tokens: a table that is
// longer says less to a model than its beginning and a word on how much there is.
const maxResult = 32 << 10

// maxCuts bounds the work on one result; what is still too long then is left out.
const maxCuts = 8

// Unknown makes the result of a call of which nobody knows whether it was carried
// out: a crash, a time-out or a lost answer hides it. Such a call is reported and
// never repeated blindly (decisions § 7.5).
func Unknown(sentence string) attache.Result {
	return attache.Result{Text: marshal(map[string]any{"ok": false, "status": "unknown", "error": sentence})}
}

// fit gives a result in the one form that a model gets: a JSON object of at most
// maxResult bytes, or a context's block, which has a budget of its own and is
// never cut (interface § 4).
func fit(r attache.Result) (attache.Result, error) {
	text := strings.ToValidUTF8(strings.TrimSpace(r.Text), "\uFFFD")
	if strings.HasPrefix(text, "<feature-context ") && strings.HasSuffix(text, "</feature-context>") {
		return attache.Result{Text: text}, nil
	}
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return attache.Result{}, fmt.Errorf("its answer is no JSON object: %.80q", text)
	}
	if len(text) <= maxResult {
		return attache.Result{Text: text}, nil
	}
	return cut(text)
}

// cut shortens an object field by field, the longest first: of a list the first
// items stay, of a text the beginning, anything else is left out. A field "cut"
// says what is missing, so that neither the model nor a person takes a part for
// the whole.
func cut(text string) (attache.Result, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return attache.Result{}, errors.New("its answer cannot be shortened: " + err.Error())
	}
	const room = maxResult - 1<<10 // the rest is for the notes
	notes := map[string]string{}
	if own, ok := fields["cut"]; ok {
		notes["cut"] = fmt.Sprintf("%d bytes are left out", len(own))
	}
	for range maxCuts {
		fields["cut"] = json.RawMessage(marshal(notes))
		out := marshal(fields)
		if len(out) <= maxResult && len(notes) > 0 {
			return attache.Result{Text: out}, nil
		}
		name := longest(fields)
		over := len(out) - room
		short, note := shorten(fields[name], max(len(fields[name])-over, 0))
		fields[name], notes[shown(name)] = short, note
	}
	ok := string(bytes.TrimSpace(fields["ok"])) != "false"
	note := fmt.Sprintf("its %d bytes are more than the %d that fit; ask for less", len(text), maxResult)
	return attache.Result{Text: marshal(map[string]any{"ok": ok, "cut": map[string]string{"everything": note}})}, nil
}

// longest gives the name of the longest field, of equal ones the first by name.
func longest(fields map[string]json.RawMessage) string {
	best, most := "", -1
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if n := len(fields[name]); name != "cut" && n > most {
			best, most = name, n
		}
	}
	return best
}

// shorten brings one value to at most room bytes of JSON and says what is shown of
// it. A list or a text becomes empty at the least.
func shorten(raw json.RawMessage, room int) (json.RawMessage, string) {
	var list []json.RawMessage
	var text string
	switch {
	case len(raw) > 0 && raw[0] == '[' && json.Unmarshal(raw, &list) == nil:
		kept, size := 0, 2
		for kept < len(list) && size+len(list[kept])+1 <= room {
			size += len(list[kept]) + 1
			kept++
		}
		return json.RawMessage(marshal(list[:kept])), fmt.Sprintf("%d of %d items are shown", kept, len(list))
	case len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil:
		// The JSON of a text is never shorter than the text.
		kept := sort.Search(min(room, len(text)), func(n int) bool { return len(marshal(text[:n+1])) > room })
		short := strings.ToValidUTF8(text[:kept], "") // a rune that was cut through
		return json.RawMessage(marshal(short)), fmt.Sprintf("%d of %d bytes are shown", len(short), len(text))
	}
	return json.RawMessage("null"), fmt.Sprintf("%d bytes are left out", len(raw))
}

// marshal writes JSON with sorted keys and, unlike json.Marshal, with < > and & as
// they are, which models read better. It takes only what always marshals.
func marshal(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return `{"ok":false,"error":"the result does not marshal; please report it"}`
	}
	return strings.TrimSuffix(b.String(), "\n")
}
