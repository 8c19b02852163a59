package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

//go:embed assets sheet.html login.html
var files embed.FS

// Assets are the files that pages load, each under an address that holds a hash of
// its content, so a browser may keep it for good and never has an old one.
type Assets struct {
	byPath map[string]asset
	urls   map[string]string
}

type asset struct {
	kind string // media type
	data []byte
}

// NewAssets gathers the shared files and those of a page's own folders. Of two
// files with one name the later folder's is taken.
func NewAssets(folders ...fs.FS) (*Assets, error) {
	shared, err := fs.Sub(files, "assets")
	if err != nil {
		return nil, err
	}
	a := &Assets{map[string]asset{}, map[string]string{}}
	for _, folder := range append([]fs.FS{shared}, folders...) {
		if err := a.add(folder); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Assets) add(folder fs.FS) error {
	names, err := fs.Glob(folder, "*")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			return fmt.Errorf("the page's file %s cannot be read: %w", name, err)
		}
		sum := sha256.Sum256(data)
		url := "/assets/" + hex.EncodeToString(sum[:6]) + "/" + name
		a.byPath[url] = asset{mediaType(name), data}
		a.urls[name] = url
	}
	return nil
}

// mediaType does not ask the machine's own tables for what matters here.
func mediaType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

// URL gives the address of a file by its name. A name that does not exist panics:
// the template that asks for it is wrong.
func (a *Assets) URL(name string) string {
	url, ok := a.urls[name]
	if !ok {
		panic("web: no page file is called " + name)
	}
	return url
}

// Has reports whether URL gave an address.
func (a *Assets) Has(address string) bool {
	_, ok := a.byPath[address]
	return ok
}

// ServeHTTP answers for addresses that URL gave.
func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := a.byPath[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", f.kind)
	w.Header().Set("Cache-Control", "max-age=31536000, immutable")
	_, _ = w.Write(f.data) // a browser that has gone needs no answer
}
