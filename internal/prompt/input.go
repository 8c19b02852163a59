package prompt

import (
	"strconv"
	"strings"
	"time"

	"attache"
)

// maxQuoted is how many characters of a quoted parent are shown (decisions § 5).
const maxQuoted = 400

// Quoted is the message that somebody natively replies to, as reference.
type Quoted struct {
	attache.Reply      // Quote is the part that the person chose; else Text is cut
	Lines         bool // it is of kind lines: an owner's words from the chats page (decisions § 7.10)
}

// Input writes the envelope of a chat turn (decisions § 5): what others said in
// the room before, the quoted parents, and the messages to answer, each on lines
// of its own and in the order given. Times are in zone, UTC if it is unknown here.
// A parent's age counts to the newest message.
//
// What people write is escaped, and so are their names, so nothing of it can open
// or close a block. What came with a message and cannot be text stands in a line
// in brackets before it, such as [photo] or [left out: a poll]. A pressed button
// is a message whose text is "[pressed] " and the label.
func Input(room []attache.Message, quoted []Quoted, messages []attache.Message, zone string) []byte {
	z, _ := location(zone)
	var blocks []string
	if len(room) > 0 {
		blocks = append(blocks, "<room>"+strings.Join(lines(room, z), "\n")+"</room>")
	}
	newest := time.Time{}
	for _, m := range messages {
		if m.At.After(newest) {
			newest = m.At
		}
	}
	for _, q := range quoted {
		blocks = append(blocks, q.element(newest, z))
	}
	return []byte(strings.Join(append(blocks, lines(messages, z)...), "\n"))
}

// maxFile is how many bytes of a text file are shown: some 50,000 tokens. Telegram
// lets people send 400 times as much.
const maxFile = 200 << 10

// File writes a text file that came with a message, escaped like everything that
// people write; more="yes" says that it goes on.
func File(of attache.MessageID, name, text string) string {
	more := ""
	if len(text) > maxFile {
		text, more = text[:maxFile], "yes"
	}
	return element("file", escapeText(strings.ToValidUTF8(text, "\uFFFD")), "message", number(of), "name", name, "more", more)
}

func lines(messages []attache.Message, zone *time.Location) []string {
	list := make([]string, len(messages))
	for i, m := range messages {
		list[i] = message(m, zone)
	}
	return list
}

// message writes one message. One without any text is still there, since it says
// that somebody sent something.
func message(m attache.Message, zone *time.Location) string {
	replyTo := ""
	if m.Reply != nil && !m.Reply.External {
		replyTo = number(m.Reply.ID)
	}
	content := notes(m)
	if m.Text != "" {
		content = append(content, m.Text)
	}
	text := escapeText(strings.Join(content, "\n"))
	if text == "" {
		text = "[empty]"
	}
	return element("message", text,
		"id", number(m.ID), "from", string(m.From.ID), "name", m.From.Name, "at", clock(m.At, zone),
		"reply_to", replyTo, "edited", clock(m.EditedAt, zone), "forwarded", m.Forward, "via", m.ViaBot)
}

// element writes a quoted parent.
func (q Quoted) element(newest time.Time, zone *time.Location) string {
	text, kind, more := q.Quote, "", ""
	if text == "" {
		text = q.Text
		if runes := []rune(text); len(runes) > maxQuoted {
			text, more = string(runes[:maxQuoted]), "yes"
		}
	}
	if q.Lines {
		kind = "lines"
	}
	age := ""
	if !q.At.IsZero() && !newest.IsZero() {
		age = ago(newest.Sub(q.At))
	}
	if text = escapeText(text); text == "" {
		text = "[no text]"
	}
	return element("quoted", text, "kind", kind, "id", number(q.ID), "from", string(q.From.ID),
		"at", clock(q.At, zone), "age", age, "more", more)
}

// notes tells what came with a message and is not its text, one line each.
func notes(m attache.Message) []string {
	var list []string
	for _, f := range m.Media {
		note := f.Kind
		if f.Name != "" {
			note += " " + f.Name
		}
		if f.Size > 0 {
			note += ", " + size(f.Size)
		}
		list = append(list, bracketed(note))
	}
	if m.Service != "" {
		list = append(list, bracketed("service message: "+m.Service))
	}
	if m.Left != "" {
		list = append(list, bracketed("left out: "+m.Left))
	}
	return list
}

// bracketed writes a note on one line that ends where the bracket does.
func bracketed(note string) string {
	return "[" + strings.NewReplacer("[", "(", "]", ")").Replace(oneLine(note)) + "]"
}

// size gives bytes in the largest unit that leaves a whole number above zero.
func size(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if n >= u.bytes {
			return strconv.FormatInt((n+u.bytes/2)/u.bytes, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10) + " B"
}

// ago gives an age in whole days, hours or minutes, rounded down; a parent from
// the future, as clocks may have it, is 0m old.
func ago(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	case d >= time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(max(d, 0)/time.Minute)) + "m"
}

func clock(at time.Time, zone *time.Location) string {
	if at.IsZero() {
		return ""
	}
	return at.In(zone).Format(time.RFC3339)
}

func number(id attache.MessageID) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(int64(id), 10)
}
