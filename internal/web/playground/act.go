package playground

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"attache"
)

// act does what a person asks for. A script gets 204 or a sentence, a plain form is
// led back to the page. What comes of the deed is not in the answer: it comes by the
// stream, as it does to everybody else who looks.
func (p *Playground) act(w http.ResponseWriter, r *http.Request) {
	s, ok := p.sit(r)
	if !ok {
		http.NotFound(w, r)
		return
	}
	a, why := action(r, s)
	if why == "" {
		if err := p.o.World.Act(a); err != nil {
			why = "Telegram would not take that: " + err.Error() + "."
		}
	}
	switch {
	case why != "":
		http.Error(w, why, http.StatusUnprocessableEntity)
	case r.Header.Get("X-Token") != "":
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Redirect(w, r, s.base(), http.StatusSeeOther)
	}
}

// action reads a form. What is wrong with it is a sentence for the person.
func action(r *http.Request, s seat) (a Action, why string) {
	a = Action{Do: Deed(r.PathValue("deed")), Person: s.person, Chat: s.chat.Key, Thread: s.thread,
		Text: tidy(r.FormValue("text")), Quote: tidy(r.FormValue("quote")), Button: r.FormValue("button"),
		Message: number(r.FormValue("message")), ReplyTo: number(r.FormValue("reply"))}
	if !slices.Contains([]Deed{Say, Edit, Press, Stop}, a.Do) {
		return a, "Nobody can do that here."
	}
	var tooBig *http.MaxBytesError
	f, err := upload(r)
	switch {
	case errors.As(err, &tooBig):
		return a, "That file is too large; up to 20 MB can be sent."
	case err != nil:
		return a, "That file did not arrive whole; send it again."
	}
	a.File = f
	if (a.Do == Say && f == nil || a.Do == Edit) && strings.TrimSpace(a.Text) == "" {
		return a, "There are no words in that."
	}
	return a, ""
}

func number(s string) attache.MessageID {
	n, _ := strconv.ParseInt(s, 10, 64) // what is no number is no message
	return attache.MessageID(n)
}

// tidy gives text as a client would send it: valid, with plain line breaks and
// nothing around it.
func tidy(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n"))
}

// upload gives the form's file, nil when none was chosen.
func upload(r *http.Request) (*File, error) {
	in, head, err := r.FormFile("file")
	if errors.Is(err, http.ErrMissingFile) || errors.Is(err, http.ErrNotMultipart) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was only read
	data, err := io.ReadAll(in)
	if err != nil || len(data) == 0 {
		return nil, err
	}
	name := head.Filename
	if !utf8.ValidString(name) {
		name = "file"
	}
	mime := cmp.Or(head.Header.Get("Content-Type"), http.DetectContentType(data))
	return &File{Kind: kindOf(mime, data), Name: name, MIME: mime, Data: data}, nil
}

// kindOf chooses how a client would send a file. Only a picture's bytes are believed:
// the page shows it, and a bot hands it to a model.
func kindOf(mime string, data []byte) string {
	kind, _, _ := strings.Cut(mime, "/")
	switch {
	case picture(data) != "":
		return "photo"
	case strings.HasPrefix(mime, "audio/ogg"), strings.HasPrefix(mime, "audio/webm"):
		return "voice"
	case kind == "audio", kind == "video":
		return kind
	}
	return "document"
}

// picture gives the media type of a picture that every browser shows, judged by its
// bytes; "" for anything else, SVG too: it can hold a script.
func picture(data []byte) string {
	if kind := http.DetectContentType(data); slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return kind
	}
	return ""
}

// file answers with a message's file. Only what can do nothing in a browser keeps
// its type; the rest is saved, never opened.
func (p *Playground) file(w http.ResponseWriter, r *http.Request) {
	f := p.find(r.PathValue("chat"), number(r.PathValue("message")))
	if f == nil {
		http.NotFound(w, r)
		return
	}
	kind := picture(f.Data)
	// Sound and film are believed by their name: a browser plays them or does not, and
	// runs nothing of them.
	if mime, _, _ := strings.Cut(f.MIME, ";"); kind == "" && (f.Kind == "voice" || f.Kind == "audio" || f.Kind == "video") &&
		(strings.HasPrefix(mime, "audio/") || strings.HasPrefix(mime, "video/")) {
		kind = mime
	}
	h := w.Header()
	// Even a file that is opened by its address has no origin of ours, and no script.
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'; media-src 'self'; style-src 'unsafe-inline'")
	if kind == "" {
		kind = "application/octet-stream"
		h.Set("Content-Disposition", "attachment")
	}
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "private, max-age=3600")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.Data))
}

func (p *Playground) find(chat string, id attache.MessageID) *File {
	for _, c := range p.o.World.Look() {
		for _, post := range c.Posts {
			if c.Key == chat && post.ID == id && !post.Deleted {
				return post.File
			}
		}
	}
	return nil
}
