package builtin

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"attache"
)

// buttonArgs is one button as a model writes it.
type buttonArgs struct {
	Text string `json:"text" jsonschema:"what the button shows"`
	Data string `json:"data,omitempty" jsonschema:"what comes back when it is pressed, at most 64 bytes; left out: its text"`
	URL  string `json:"url,omitempty" jsonschema:"the web address that it opens, instead of data"`
}

// The limits of a keyboard: that of data is Telegram's (telegram/README.md, point
// 6), the others are what its clients still show and take.
const (
	maxData    = 64 // bytes
	maxPerRow  = 8
	maxButtons = 100
)

// cardData begins the data of an approval card's buttons (interface § 4). A model
// knows the id of the approval that it waits for; a button of its own with that
// data would make a person approve by pressing something else.
const cardData = "ap:"

// keyboard reads the rows of buttons, or says what is wrong with one. Empty rows
// are left out.
func keyboard(rows [][]buttonArgs) (out [][]attache.Button, wrong string) {
	n := 0
	for i, row := range rows {
		if len(row) > maxPerRow {
			return nil, fmt.Sprintf("buttons[%d] has %d buttons and a row holds at most %d; use more rows", i, len(row), maxPerRow)
		}
		var buttons []attache.Button
		for j, b := range row {
			button, wrong := b.read()
			if wrong != "" {
				return nil, fmt.Sprintf("buttons[%d][%d] %s", i, j, wrong)
			}
			buttons = append(buttons, button)
		}
		if n += len(buttons); len(buttons) > 0 {
			out = append(out, buttons)
		}
	}
	if n > maxButtons {
		return nil, fmt.Sprintf("there are %d buttons and a message holds at most %d; give fewer", n, maxButtons)
	}
	return out, ""
}

// read checks one button, for Telegram refuses a whole message for a wrong one.
func (b buttonArgs) read() (attache.Button, string) {
	label := strings.TrimSpace(b.Text)
	data := b.Data
	if data == "" && b.URL == "" {
		data = label
	}
	switch {
	case label == "":
		return attache.Button{}, "shows nothing; give it a text"
	case b.Data != "" && b.URL != "":
		return attache.Button{}, "has data and a url; give it one of them"
	case len(data) > maxData && b.Data == "":
		return attache.Button{}, fmt.Sprintf("has no data, and its text of %d bytes is too long to stand for it; give it data of at most %d bytes", len(data), maxData)
	case len(data) > maxData:
		return attache.Button{}, fmt.Sprintf("has data of %d bytes; at most %d are taken", len(data), maxData)
	case strings.HasPrefix(data, cardData):
		return attache.Button{}, fmt.Sprintf("has data that begins with %q, which is kept for approvals; begin it otherwise", cardData)
	case b.URL != "" && !opens(b.URL):
		return attache.Button{}, "has a url that Telegram does not open; write https://…, http://… or tg://…"
	}
	return attache.Button{Text: label, Data: data, URL: b.URL}, ""
}

// opens reports whether Telegram takes a URL for a button.
func opens(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && slices.Contains([]string{"https", "http", "tg"}, u.Scheme)
}
