package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"

	"attache"
)

// Upload makes a call that brings a file, as a form: params is the exact JSON of its
// other parameters, and the file's own is named as the method, sendVoice: voice. It
// is like Call in everything else, but may take as long as a slow line needs.
func (c *Client) Upload(ctx context.Context, method string, params json.RawMessage, f attache.Upload, result any) error {
	body, err := form(params, strings.ToLower(strings.TrimPrefix(method, "send")), f)
	if err != nil {
		return &CallError{Method: method, Description: err.Error(), Certain: true, cause: err}
	}
	return c.post(ctx, method, body, uploadTimeout, result)
}

// form writes parameters and a file as multipart/form-data. The file's bytes are not
// copied: they stand between a head and an end that are written once.
func form(params json.RawMessage, field string, f attache.Upload) (payload, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(params, &values); err != nil {
		return payload{}, fmt.Errorf("its parameters are no JSON object: %w", err)
	}
	var head bytes.Buffer
	w := multipart.NewWriter(&head)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := w.WriteField(name, plainly(values[name])); err != nil {
			return payload{}, err
		}
	}
	about := textproto.MIMEHeader{}
	about.Set("Content-Disposition", multipart.FileContentDisposition(field, f.Name))
	about.Set("Content-Type", oneLine(f.MIME))
	if _, err := w.CreatePart(about); err != nil {
		return payload{}, err
	}
	end := "\r\n--" + w.Boundary() + "--\r\n"
	return payload{
		kind: w.FormDataContentType(),
		size: int64(head.Len() + len(f.Data) + len(end)),
		open: func() io.Reader {
			return io.MultiReader(bytes.NewReader(head.Bytes()), bytes.NewReader(f.Data), strings.NewReader(end))
		},
	}, nil
}

// plainly gives a value as a form has it: a text without its quotes, anything else as
// JSON.
func plainly(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	return string(v)
}

// oneLine is a header's value; what could begin another header is taken out.
func oneLine(s string) string {
	if s == "" {
		return "application/octet-stream"
	}
	return strings.NewReplacer("\r", "", "\n", "").Replace(s)
}
