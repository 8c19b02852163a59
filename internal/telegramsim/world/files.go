package world

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"attache/internal/telegramsim/wire"
)

// File is a file in a message. Kind is photo, voice, audio, video or document.
type File struct {
	Kind string
	Name string
	MIME string
	Data []byte
}

// Stored is a file in the world. Its id carries botMark until it meets its reader.
type Stored struct {
	File
	Path string // as getFile gives it
	id   string
}

// Store keeps a file for as long as the world lives.
func (w *World) Store(f File) *Stored {
	n := w.Number()
	st := &Stored{File: f, id: fmt.Sprintf("F%d-%s", n, botMark), Path: fmt.Sprintf("%ss/file_%d", f.Kind, n)}
	if i := strings.LastIndexByte(f.Name, '.'); i >= 0 {
		st.Path += f.Name[i:]
	}
	w.files[strconv.FormatInt(n, 10)] = st
	return st
}

// FileOf finds the file behind an id that was given to this bot, nil for none; another
// bot's id is no good, as at Telegram.
func (w *World) FileOf(bot *User, id string) *Stored {
	number, owner, ok := strings.Cut(strings.TrimPrefix(id, "F"), "-")
	if !ok || owner != strconv.FormatInt(bot.ID, 10) {
		return nil
	}
	return w.files[number]
}

// FileAt finds a file by its path, nil for none.
func (w *World) FileAt(path string) *Stored {
	_, number, _ := strings.Cut(path, "/file_")
	number, _, _ = strings.Cut(number, ".")
	if f := w.files[number]; f != nil && f.Path == path {
		return f
	}
	return nil
}

// botMark stands in the frozen JSON for the number of the bot that reads it,
// because a file's id is good for one bot only.
const botMark = "\u2060bot\u2060"

// BindFiles gives JSON its reader's file ids.
func BindFiles(raw []byte, bot *User) []byte {
	if !bytes.Contains(raw, []byte(botMark)) {
		return raw
	}
	return bytes.ReplaceAll(raw, []byte(botMark), []byte(strconv.FormatInt(bot.ID, 10)))
}

// Attach makes the message carry a file.
func (m *Message) Attach(f *Stored) {
	zero, one := 0, 1
	m.File = f
	w := &wire.File{FileID: f.id, Unique: "U" + f.Path, Name: f.Name, MIME: f.MIME, Size: len(f.Data)}
	switch f.Kind {
	case "photo":
		m.Photo = []wire.File{{FileID: f.id, Unique: w.Unique, Width: &one, Height: &one, Size: w.Size}}
	case "voice":
		w.Name, w.Duration = "", &one
		m.Voice = w
	case "audio":
		w.Duration = &one
		m.Audio = w
	case "video":
		w.Duration, w.Width, w.Height = &zero, &one, &one
		m.Video = w
	default:
		m.Document = w
	}
}
