package richtext

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"attache"

	"github.com/go-telegram/bot/models"
)

// Telegram's limits of a rich message.
const (
	maxRichUnits   = 32768 // counted in UTF-16 code units, to be on the safe side
	maxRichBlocks  = 500
	maxRichDepth   = 16
	maxRichColumns = 20
)

// generalThread is the topic that every forum has; Telegram refuses its number in a
// send (decisions § 7.2).
const generalThread attache.ThreadID = 1

// Compose makes the parts of an answer, each within Telegram's limits (decisions
// § 7.3, § 7.8, § 7.9). It is pure: the same answer gives the same bytes. Markdown
// that says nothing gives no parts.
//
// With FormatAuto, what entities can say in one message goes out as text with
// entities; tables, headings, nested lists and longer texts as one rich message,
// if that is within its limits. FormatRich prefers the rich message,
// FormatEntities never makes one, FormatPlain is text alone. Markdown that is too
// costly to parse goes out as the plain text it is.
//
// Only the first part replies; buttons stand below the last one. A button that
// Telegram would refuse the whole post for (data over 64 bytes, no label, no
// usable address) is left out.
//
// A file goes out with the first part, and the Markdown is its caption if it is
// short enough, or follows it.
func Compose(o attache.Outgoing) []attache.Part {
	frame := frame{ChatID: o.Place.Chat, ThreadID: o.Place.Thread, ReplyMarkup: keyboard(o.Buttons)}
	if o.Place.Thread == generalThread {
		frame.ThreadID = 0
	}
	if o.ReplyTo != 0 {
		frame.Reply = &models.ReplyParameters{MessageID: int(o.ReplyTo), AllowSendingWithoutReply: true}
	}
	if o.File != nil {
		return composeFile(o, frame)
	}
	src := normalise(o.Markdown)
	if strings.TrimSpace(src) == "" {
		return nil
	}
	doc := parse(src)
	switch {
	case doc.costly || o.Format == attache.FormatPlain:
		return frame.texts(doc.text, attache.FormatPlain)
	case o.Format == attache.FormatEntities, o.Format != attache.FormatRich && !doc.structured && doc.text.fits():
		return frame.texts(doc.text, attache.FormatEntities)
	}
	if rich, ok := doc.inert(src); ok {
		return frame.rich(rich, doc.text.text)
	}
	return frame.texts(doc.text, attache.FormatEntities)
}

// Simpler gives the parts that say the same as a refused part in the next simpler
// form: a rich message as entities, entities as plain text, a picture as a document.
// Nothing is simpler than plain text. It is for RefusalFormat, when Telegram
// certainly did not post the part (decisions § 7.9).
func Simpler(p attache.Part) []attache.Part {
	if p.File != nil {
		return simplerFile(p)
	}
	var f frame
	if json.Unmarshal(p.Params, &f) != nil {
		return nil
	}
	switch {
	case p.Format == attache.FormatRich && f.RichMessage != nil:
		doc := parse(f.RichMessage.Markdown)
		f.RichMessage = nil
		return f.texts(doc.text, attache.FormatEntities)
	case p.Format == attache.FormatEntities && p.Method == "sendMessage":
		f.Entities = nil
		return f.texts(styled{text: f.Text}, attache.FormatPlain)
	}
	return nil
}

// frame is the parameters of sendMessage, sendRichMessage and their drafts that are
// used here, in the order in which they are written.
type frame struct {
	ChatID          attache.ChatID               `json:"chat_id"`
	ThreadID        attache.ThreadID             `json:"message_thread_id,omitempty"`
	Text            string                       `json:"text,omitempty"`
	Entities        []models.MessageEntity       `json:"entities,omitempty"`
	RichMessage     *models.InputRichMessage     `json:"rich_message,omitempty"`
	Caption         string                       `json:"caption,omitempty"`
	CaptionEntities []models.MessageEntity       `json:"caption_entities,omitempty"`
	Reply           *models.ReplyParameters      `json:"reply_parameters,omitempty"`
	ReplyMarkup     *models.InlineKeyboardMarkup `json:"reply_markup,omitempty"`
	DraftID         int64                        `json:"draft_id,omitempty"` // drafts only, as what follows
	CanStop         bool                         `json:"can_stop,omitempty"`
	KeepOnStop      bool                         `json:"keep_on_stop,omitempty"`
}

// rich makes the one part of a rich message.
func (f frame) rich(markdown, plain string) []attache.Part {
	f.RichMessage = &models.InputRichMessage{Markdown: markdown}
	return []attache.Part{{Method: "sendRichMessage", Params: f.json(), Text: plain, Format: attache.FormatRich}}
}

// texts makes the parts of a text.
func (f frame) texts(t styled, format attache.Format) []attache.Part {
	if format == attache.FormatPlain {
		t.spans = nil
	}
	pieces := t.split()
	parts := make([]attache.Part, len(pieces))
	for i, piece := range pieces {
		call := frame{ChatID: f.ChatID, ThreadID: f.ThreadID, Text: piece.text, Entities: entities(piece.marks())}
		if i == 0 {
			call.Reply = f.Reply
		}
		if i == len(pieces)-1 {
			call.ReplyMarkup = f.ReplyMarkup
		}
		parts[i] = attache.Part{Method: "sendMessage", Params: call.json(), Text: piece.text, Format: format}
	}
	return parts
}

// json writes the parameters. Nothing in a frame can be refused by the encoder.
func (f frame) json() json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(f); err != nil {
		panic("the parameters of a send are no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// entities gives marks in Telegram's form.
func entities(marks []attache.Mark) []models.MessageEntity {
	out := make([]models.MessageEntity, len(marks))
	for i, m := range marks {
		out[i] = models.MessageEntity{Type: models.MessageEntityType(m.Kind), Offset: m.Offset, Length: m.Length, URL: m.URL, Language: m.Language}
	}
	return out
}

// inert gives the Markdown for a rich message, or false when it is over a limit.
// HTML and images of the answer are escaped: Telegram would act on them, and
// fetching a picture from an address that a model was talked into writing would
// carry the chat's words to a stranger without anyone's click.
func (d document) inert(src string) (string, bool) {
	if d.activeElsewhere || d.blocks > maxRichBlocks || d.depth > maxRichDepth || d.columns > maxRichColumns {
		return "", false
	}
	slices.Sort(d.active)
	var b strings.Builder
	last := 0
	for _, at := range slices.Compact(d.active) {
		b.WriteString(src[last:at])
		b.WriteByte('\\')
		last = at
	}
	b.WriteString(src[last:])
	rich := b.String()
	return rich, attache.UTF16Len(rich) <= maxRichUnits
}

// keyboard gives the buttons in Telegram's form, without those that it would
// refuse; nil when none is left.
func keyboard(rows [][]attache.Button) *models.InlineKeyboardMarkup {
	var markup models.InlineKeyboardMarkup
	for _, row := range rows {
		var keys []models.InlineKeyboardButton
		for _, b := range row {
			if usable(b) {
				keys = append(keys, models.InlineKeyboardButton{Text: b.Text, CallbackData: b.Data, URL: b.URL})
			}
		}
		if len(keys) > 0 {
			markup.InlineKeyboard = append(markup.InlineKeyboard, keys)
		}
	}
	if markup.InlineKeyboard == nil {
		return nil
	}
	return &markup
}

// usable reports whether Telegram takes a button: a label, and either 1 to 64
// bytes of data or an address.
func usable(b attache.Button) bool {
	if strings.TrimSpace(b.Text) == "" || (b.Data == "") == (b.URL == "") || len(b.Data) > 64 {
		return false
	}
	if b.URL == "" {
		return true
	}
	u, err := url.Parse(b.URL)
	return err == nil && (u.Scheme == "tg" || u.Host != "" && (u.Scheme == "http" || u.Scheme == "https"))
}
