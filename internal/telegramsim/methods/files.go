package methods

import (
	"strings"

	"attache/internal/telegramsim/schema"
	"attache/internal/telegramsim/world"
)

// upload gives the file that a send's parameter means: a part of the form, an id
// of before, or an address (whose content the simulator does not fetch).
func (a *table) upload(req *Request, kind, value string, part schema.File, isPart bool) (*world.Stored, error) {
	if isPart {
		return a.Store(world.File{Kind: kind, Name: part.Name, MIME: part.MIME, Data: part.Data}), nil
	}
	if name, ok := strings.CutPrefix(value, "attach://"); ok {
		f := req.Params.Files[name]
		return a.Store(world.File{Kind: kind, Name: f.Name, MIME: f.MIME, Data: f.Data}), nil
	}
	if strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "http://") {
		return a.Store(world.File{Kind: kind, Name: value[strings.LastIndexByte(value, '/')+1:]}), nil
	}
	if f := a.FileOf(req.Bot, value); f != nil {
		return f, nil
	}
	return nil, BadRequest("wrong remote file identifier specified: Wrong character in the string")
}

// getFile tells where a file can be fetched; bots may fetch 20 MB.
func (a *table) getFile(req *Request) (any, error) {
	id := req.Params.Text("file_id")
	f := a.FileOf(req.Bot, id)
	if f == nil {
		return nil, BadRequest("wrong file_id or the file is temporarily unavailable")
	}
	if len(f.Data) > 20<<20 {
		return nil, BadRequest("file is too big")
	}
	return struct {
		ID     string `json:"file_id"`
		Unique string `json:"file_unique_id"`
		Size   int    `json:"file_size"`
		Path   string `json:"file_path"`
	}{id, "U" + f.Path, len(f.Data), f.Path}, nil
}
