package telegramsim

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"attache/internal/telegramsim/schema"
)

// stored is a file in the world. Its id carries botMark until it meets its reader.
type stored struct {
	File
	id   string
	path string
}

// store keeps a file for as long as the world lives.
func (s *Server) store(f File) *stored {
	n := s.next()
	st := &stored{File: f, id: fmt.Sprintf("F%d-%s", n, botMark), path: fmt.Sprintf("%ss/file_%d", f.Kind, n)}
	if i := strings.LastIndexByte(f.Name, '.'); i >= 0 {
		st.path += f.Name[i:]
	}
	s.files[strconv.FormatInt(n, 10)] = st
	return st
}

// fileOf finds the file behind an id that was given to this bot; another bot's id
// is no good, as at Telegram.
func (s *Server) fileOf(bot *User, id string) *stored {
	number, owner, ok := strings.Cut(strings.TrimPrefix(id, "F"), "-")
	if !ok || owner != strconv.FormatInt(bot.ID, 10) {
		return nil
	}
	return s.files[number]
}

// attach makes the message carry a file.
func (m *message) attach(f *stored) {
	zero, one := 0, 1
	m.file = f
	w := &wireFile{FileID: f.id, Unique: "U" + f.path, Name: f.Name, MIME: f.MIME, Size: len(f.Data)}
	switch f.Kind {
	case "photo":
		m.Photo = []wireFile{{FileID: f.id, Unique: w.Unique, Width: &one, Height: &one, Size: w.Size}}
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

// upload gives the file that a send's parameter means: a part of the form, an id
// of before, or an address (whose content the simulator does not fetch).
func (s *Server) upload(req *request, kind, value string, part schema.File, isPart bool) (*stored, error) {
	if isPart {
		return s.store(File{Kind: kind, Name: part.Name, MIME: part.MIME, Data: part.Data}), nil
	}
	if name, ok := strings.CutPrefix(value, "attach://"); ok {
		f := req.params.Files[name]
		return s.store(File{Kind: kind, Name: f.Name, MIME: f.MIME, Data: f.Data}), nil
	}
	if strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "http://") {
		return s.store(File{Kind: kind, Name: value[strings.LastIndexByte(value, '/')+1:]}), nil
	}
	if f := s.fileOf(req.bot, value); f != nil {
		return f, nil
	}
	return nil, badRequest("wrong remote file identifier specified: Wrong character in the string")
}

// getFile tells where a file can be fetched; bots may fetch 20 MB.
func (s *Server) getFile(req *request) (any, error) {
	id := req.params.Text("file_id")
	f := s.fileOf(req.bot, id)
	if f == nil {
		return nil, badRequest("wrong file_id or the file is temporarily unavailable")
	}
	if len(f.Data) > 20<<20 {
		return nil, badRequest("file is too big")
	}
	return struct {
		ID     string `json:"file_id"`
		Unique string `json:"file_unique_id"`
		Size   int    `json:"file_size"`
		Path   string `json:"file_path"`
	}{id, "U" + f.path, len(f.Data), f.path}, nil
}

// download serves /file/bot<token>/<path>.
func (s *Server) download(w http.ResponseWriter, rest string) {
	token, path, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock() // a loopback write of bytes that tests made is short enough for the lock
	if s.bots[token] == nil {
		write(w, nil, &refusal{code: 401, text: "Unauthorized"})
		return
	}
	_, number, _ := strings.Cut(path, "/file_")
	number, _, _ = strings.Cut(number, ".")
	f := s.files[number]
	if f == nil || f.path != path {
		write(w, nil, &refusal{code: 404, text: "Not Found"})
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(f.Data)
}
