package richtext

import (
	"encoding/json"
	"strings"

	"attache"
)

// maxCaption is Telegram's limit of the words below a file, in UTF-16 code units.
const maxCaption = 1024

// composeFile makes the parts of an answer that brings a file. Words that are one
// caption stand below it; longer ones follow as a text of their own, whole, since
// nobody reads on from a picture into the next message.
func composeFile(o attache.Outgoing, f frame) []attache.Part {
	u := o.File
	words, format := caption(o)
	call := frame{ChatID: f.ChatID, ThreadID: f.ThreadID, Reply: f.Reply}
	var behind []attache.Part
	if attache.UTF16Len(words.text) <= maxCaption && len(words.spans) <= maxMarks {
		call.Caption, call.CaptionEntities = words.text, entities(words.marks())
	} else {
		o.File, o.ReplyTo, words, format = nil, 0, styled{}, attache.FormatPlain
		behind = Compose(o)
	}
	if behind == nil {
		call.ReplyMarkup = f.ReplyMarkup
	}
	file := attache.Part{Method: method(u), Params: call.json(), Text: strings.TrimSpace(u.Says + "\n" + words.text), Format: format, File: u}
	return append([]attache.Part{file}, behind...)
}

// caption gives the words of an answer as they stand below a file.
func caption(o attache.Outgoing) (styled, attache.Format) {
	src := normalise(o.Markdown)
	if strings.TrimSpace(src) == "" {
		return styled{}, attache.FormatPlain
	}
	doc := parse(src)
	words := doc.text.trim()
	if doc.costly || o.Format == attache.FormatPlain || len(words.spans) == 0 {
		return styled{text: words.text}, attache.FormatPlain
	}
	return words, attache.FormatEntities
}

// method is the call that sends a file as what it is.
func method(u *attache.Upload) string {
	switch u.Kind {
	case "photo":
		return "sendPhoto"
	case "voice":
		return "sendVoice"
	}
	return "sendDocument"
}

// simplerFile says a refused file in the next simpler form: a picture that Telegram
// does not take as one is still a document, and a caption is still words without its
// marks.
func simplerFile(p attache.Part) []attache.Part {
	if p.Method == "sendPhoto" {
		p.Method = "sendDocument"
		return []attache.Part{p}
	}
	var f frame
	if p.Format != attache.FormatEntities || json.Unmarshal(p.Params, &f) != nil {
		return nil
	}
	f.CaptionEntities = nil
	p.Params, p.Format = f.json(), attache.FormatPlain
	return []attache.Part{p}
}
