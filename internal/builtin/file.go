package builtin

import (
	"bytes"
	"context"
	_ "embed"
	"image"
	"image/jpeg"
	"image/png"
	"mime"
	"path"
	"strings"

	"attache"
	"attache/internal/tools"
)

//go:embed words/file_send.md
var fileWords string

// fileArgs are the arguments of file_send (interface § 4).
type fileArgs struct {
	Path    string  `json:"path,omitempty" jsonschema:"the file: assets/… of the brain, or a path below this place's own folder"`
	Content *string `json:"content,omitempty" jsonschema:"the text that the file holds, instead of path"`
	Name    string  `json:"name,omitempty" jsonschema:"the file's name as the chat sees it, with its ending; needed with content; left out: that of path"`
	Caption string  `json:"caption,omitempty" jsonschema:"words below the file, in Markdown"`
	sendArgs
}

// file is the tool file_send.
func (d Deps) file() attache.Tool {
	return tools.Make(attache.Tool{
		Name: "file_send", Description: words(fileWords),
		Capability: "notify:send", Risk: attache.RiskModerate, Effects: true, Keyed: true,
	}, func(ctx context.Context, c attache.Call, args fileArgs) attache.Result {
		return d.send(ctx, c, args.sendArgs, func(context.Context) (attache.Outgoing, string) { return d.enclose(c, args) })
	})
}

// enclose gives the file that is to be sent, with its caption.
func (d Deps) enclose(c attache.Call, args fileArgs) (out attache.Outgoing, why string) {
	if (args.Path == "") == (args.Content == nil) {
		return out, "a file is named by path or written as content; give exactly one of them"
	}
	f := &attache.Upload{Kind: "document", Name: strings.TrimSpace(args.Name)}
	if f.Name == "" && args.Path != "" {
		f.Name = path.Base(path.Clean(args.Path))
	}
	if why = plainName(f.Name); why != "" {
		return out, why
	}
	if args.Content != nil {
		f.Data = []byte(*args.Content)
	} else if f.Data, why = d.open(c, args.Path); why != "" {
		return out, why
	}
	if len(f.Data) == 0 {
		return out, "the content is empty, and Telegram takes no empty files"
	}
	if f.MIME = mime.TypeByExtension(strings.ToLower(path.Ext(f.Name))); f.MIME == "" {
		f.MIME = "application/octet-stream"
	}
	if picture(f) {
		f.Kind = "photo"
	}
	f.Says = "[" + f.Kind + " " + f.Name + "]"
	return attache.Outgoing{Markdown: args.Caption, File: f}, ""
}

// Telegram's limits of what it shows as a picture; anything beyond is a document.
const (
	largestPhoto = 10 << 20
	longestSides = 10000 // width and height together
	narrowest    = 20    // times as long as wide, or the other way round
)

// picture reports whether a file is shown as a picture: its name and its bytes say so.
// A document keeps every byte, but nobody sees it before opening it.
func picture(f *attache.Upload) bool {
	var size image.Config
	var err error
	switch strings.ToLower(path.Ext(f.Name)) {
	case ".png":
		size, err = png.DecodeConfig(bytes.NewReader(f.Data))
	case ".jpg", ".jpeg":
		size, err = jpeg.DecodeConfig(bytes.NewReader(f.Data))
	default:
		return false
	}
	w, h := size.Width, size.Height
	return err == nil && len(f.Data) <= largestPhoto && w > 0 && h > 0 && w+h <= longestSides && w <= narrowest*h && h <= narrowest*w
}
