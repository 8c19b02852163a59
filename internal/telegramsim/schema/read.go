package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
)

// File is an uploaded file of a multipart call.
type File struct {
	Name string // the file's own name
	MIME string
	Data []byte
}

// Params is a call's parameters. After Method.Check every value is JSON of its
// proper type, however it came.
type Params struct {
	values map[string]json.RawMessage
	Files  map[string]File // by the name of the form's part
}

// Read collects the parameters of a request: query first, then the body as JSON,
// urlencoded or multipart form; the first value of a name wins (telegram/README
// step 2). A multipart body may be chunked and may be empty.
func Read(r *http.Request, limit int64) (Params, error) {
	p := Params{values: map[string]json.RawMessage{}}
	if r.URL.RawQuery != "" {
		query, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			return p, fmt.Errorf("the query is not readable: %w", err)
		}
		p.addForm(query)
	}
	if r.Body == nil || r.Body == http.NoBody {
		return p, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if err != nil {
		return p, fmt.Errorf("the body is not readable: %w", err)
	}
	if int64(len(body)) > limit {
		return p, fmt.Errorf("the body is larger than %d bytes", limit)
	}
	if len(body) == 0 {
		return p, nil
	}
	return p, p.addBody(r.Header.Get("Content-Type"), body)
}

func (p *Params) addBody(contentType string, body []byte) error {
	media, args, err := mime.ParseMediaType(contentType)
	if err != nil {
		return fmt.Errorf("the content type %q is not readable", contentType)
	}
	switch media {
	case "application/json":
		return p.addJSON(body)
	case "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return fmt.Errorf("the form is not readable: %w", err)
		}
		p.addForm(form)
		return nil
	case "multipart/form-data":
		return p.addMultipart(multipart.NewReader(bytes.NewReader(body), args["boundary"]))
	}
	return fmt.Errorf("the content type %q is not one that Telegram reads", media)
}

func (p *Params) addJSON(body []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(body, &values); err != nil {
		return fmt.Errorf("the body is not a JSON object: %w", err)
	}
	for name, v := range values {
		if string(v) != "null" {
			p.add(name, v)
		}
	}
	return nil
}

func (p *Params) addForm(form url.Values) {
	for name, all := range form {
		if len(all) > 0 {
			p.addText(name, all[0])
		}
	}
}

func (p *Params) addMultipart(r *multipart.Reader) error {
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("the multipart body is not readable: %w", err)
		}
		data, err := io.ReadAll(part)
		if err != nil {
			return fmt.Errorf("the multipart body is not readable: %w", err)
		}
		name := part.FormName()
		if part.FileName() == "" {
			p.addText(name, string(data))
			continue
		}
		if p.Files == nil {
			p.Files = map[string]File{}
		}
		if _, twice := p.Files[name]; !twice {
			p.Files[name] = File{Name: part.FileName(), MIME: part.Header.Get("Content-Type"), Data: data}
		}
	}
}

func (p *Params) addText(name, value string) {
	quoted, err := json.Marshal(value)
	if err == nil {
		p.add(name, quoted)
	}
}

func (p *Params) add(name string, value json.RawMessage) {
	if _, there := p.values[name]; !there {
		p.values[name] = value
	}
}

// Has reports whether the call carries the parameter, as a value or as a file.
func (p Params) Has(name string) bool {
	_, value := p.values[name]
	_, file := p.Files[name]
	return value || file
}

// Text gives a String parameter, "" when it is absent.
func (p Params) Text(name string) string {
	raw := p.values[name]
	if len(raw) == 0 || raw[0] != '"' {
		return string(raw)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// Int gives an Integer parameter, 0 when it is absent or no number.
func (p Params) Int(name string) int64 {
	n, err := strconv.ParseInt(string(p.values[name]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// Bool gives a Boolean parameter, false when it is absent.
func (p Params) Bool(name string) bool { return string(p.values[name]) == "true" }

// Decode fills v from an object or array parameter; an absent one leaves v alone.
func (p Params) Decode(name string, v any) error {
	raw, ok := p.values[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("parameter %q: %w", name, err)
	}
	return nil
}

// Values gives all parameters by name; files are not in it.
func (p Params) Values() map[string]json.RawMessage { return p.values }

// Raw gives one parameter's JSON, nil when it is absent.
func (p Params) Raw(name string) json.RawMessage { return p.values[name] }
