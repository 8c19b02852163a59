package wire

import (
	"bytes"
	"encoding/json"

	"attache"
	"attache/internal/telegramsim/format"
)

// ShownMarkup keeps an inline keyboard, which a message shows; other markups
// (a reply keyboard, a forced reply) concern the client only.
func ShownMarkup(raw json.RawMessage) json.RawMessage {
	if len(Keyboard(raw)) == 0 {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return nil
	}
	return compact.Bytes()
}

// Keyboard reads the buttons of an inline keyboard, nil for any other markup.
func Keyboard(raw json.RawMessage) [][]attache.Button {
	var in struct {
		Rows [][]struct {
			Text string `json:"text"`
			Data string `json:"callback_data"`
			URL  string `json:"url"`
		} `json:"inline_keyboard"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &in) != nil {
		return nil
	}
	var out [][]attache.Button
	for _, row := range in.Rows {
		var buttons []attache.Button
		for _, b := range row {
			buttons = append(buttons, attache.Button{Text: b.Text, Data: b.Data, URL: b.URL})
		}
		out = append(out, buttons)
	}
	return out
}

// Marks turns entities into the root package's marks.
func Marks(list []format.Entity) []attache.Mark {
	var out []attache.Mark
	for _, e := range list {
		k := attache.Mark{Kind: e.Type, Offset: e.Offset, Length: e.Length, URL: e.URL, Language: e.Language}
		var u User
		if json.Unmarshal(e.User, &u) == nil && u.ID != 0 {
			k.User = attache.UserID(u.ID)
		}
		out = append(out, k)
	}
	return out
}
