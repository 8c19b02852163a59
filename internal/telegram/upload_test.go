package telegram

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"attache"

	"pgregory.net/rapid"
)

func file() *attache.Upload {
	return &attache.Upload{Kind: "voice", Name: "note.ogg", MIME: "audio/ogg", Data: []byte("OggS\x00\r\n--and what looks like an end--\r\n")}
}

func filePart(method string) attache.Part {
	return attache.Part{Method: method, Params: json.RawMessage(`{"chat_id":-1001,"caption":"a \"b\"","caption_entities":[{"type":"bold","offset":0,"length":1}],"reply_parameters":{"message_id":9}}`), File: file()}
}

// read gives the fields of a form, a file's with its name and type.
func read(t testing.TB, kind string, body io.Reader) map[string]string {
	t.Helper()
	media, args, err := mime.ParseMediaType(kind)
	if err != nil || media != "multipart/form-data" {
		t.Fatalf("content type %q: %v", kind, err)
	}
	fields := map[string]string{}
	for r := multipart.NewReader(body, args["boundary"]); ; {
		p, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			return fields
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			t.Fatal(err)
		}
		name := p.FormName()
		if p.FileName() != "" {
			name += " " + p.FileName() + " " + p.Header.Get("Content-Type")
		}
		fields[name] = string(b)
	}
}

// A file goes out as a form of known length: texts as they are, all else as JSON.
func TestUploadIsAForm(t *testing.T) {
	client, log := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.ContentLength != int64(len(body)) {
			t.Errorf("%d bytes came and %d were announced: %v", len(body), r.ContentLength, err)
		}
		want := map[string]string{
			"chat_id": "-1001", "caption": `a "b"`, "caption_entities": `[{"type":"bold","offset":0,"length":1}]`,
			"reply_parameters": `{"message_id":9}`, "voice note.ogg audio/ogg": string(file().Data),
		}
		got := read(t, r.Header.Get("Content-Type"), bytes.NewReader(body))
		for name, v := range want {
			if got[name] != v {
				t.Errorf("%s is %q, want %q", name, got[name], v)
			}
		}
		if len(got) != len(want) || !strings.HasSuffix(r.URL.Path, "/sendVoice") {
			t.Errorf("%s with %q", r.URL.Path, got)
		}
		answer(200, `{"ok":true,"result":{"message_id":7,"message_thread_id":42,"is_topic_message":true}}`)(w, r)
	})
	d := NewSender(SenderOptions{Client: client}).Deliver(t.Context(), filePart("sendVoice"))
	if d.Fate != attache.FateSent || len(d.Messages) != 1 || d.Messages[0] != 7 || d.Thread != 42 {
		t.Errorf("%+v", d)
	}
	noToken(t, log.String())
}

// Each way in which an upload may end is one in which a text may end.
//
// row L9 (files)
func TestUploadFates(t *testing.T) {
	for name, test := range map[string]struct {
		method  string
		handle  http.HandlerFunc
		fate    attache.Fate
		refusal attache.Refusal
	}{
		"flood":                     {"sendDocument", refuseWith(429, "Too Many Requests: retry after 35", `{"retry_after":35}`), attache.FateHeld, ""},
		"server error":              {"sendDocument", refuse(500, "Internal Server Error"), attache.FateHeld, ""},
		"cut after the body":        {"sendDocument", cut(""), attache.FateUnknown, ""},
		"thread not found":          {"sendDocument", refuse(400, "Bad Request: message thread not found"), attache.FateRefused, attache.RefusalThread},
		"migrated":                  {"sendDocument", refuseWith(400, "Bad Request: group chat was upgraded to a supergroup chat", `{"migrate_to_chat_id":-1009}`), attache.FateRefused, attache.RefusalMigrated},
		"too large":                 {"sendDocument", refuse(413, "Request Entity Too Large"), attache.FateRefused, attache.RefusalOther},
		"entities":                  {"sendDocument", refuse(400, "Bad Request: can't parse entities"), attache.FateRefused, attache.RefusalFormat},
		"a picture that is none":    {"sendPhoto", refuse(400, "Bad Request: IMAGE_PROCESS_FAILED"), attache.FateRefused, attache.RefusalFormat},
		"a picture that is wide":    {"sendPhoto", refuse(400, "Bad Request: PHOTO_INVALID_DIMENSIONS"), attache.FateRefused, attache.RefusalFormat},
		"no photos in the chat":     {"sendPhoto", refuse(400, "Bad Request: not enough rights to send photos to the chat"), attache.FateRefused, attache.RefusalRights},
		"a person without voice":    {"sendVoice", refuse(400, "Bad Request: VOICE_MESSAGES_FORBIDDEN"), attache.FateRefused, attache.RefusalRights},
		"a button that is not good": {"sendPhoto", refuse(400, "Bad Request: BUTTON_DATA_INVALID"), attache.FateRefused, attache.RefusalOther},
	} {
		t.Run(name, func(t *testing.T) {
			client, log := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				test.handle(w, r)
			})
			d := NewSender(SenderOptions{Client: client}).Deliver(t.Context(), filePart(test.method))
			if d.Fate != test.fate || d.Refusal != test.refusal || d.Why == "" {
				t.Errorf("%+v", d)
			}
			noToken(t, d.Why, log.String())
		})
	}
}

// A server that stops reading in the middle of a file never had a whole request.
func TestUploadCutInTheMiddle(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.(*net.TCPConn).SetLinger(0)
			io.CopyN(io.Discard, conn, 1024)
			conn.Close()
		}
	}()
	client, log := clientFor("http://" + listener.Addr().String())
	p := filePart("sendDocument")
	p.File.Data = make([]byte, 20<<20)
	d := NewSender(SenderOptions{Client: client}).Deliver(t.Context(), p)
	if d.Fate == attache.FateSent || d.Fate == attache.FateRefused {
		t.Errorf("%+v", d)
	}
	noToken(t, d.Why, log.String())
}

// A reply that is gone is left out of a file as well.
func TestUploadWithoutAReply(t *testing.T) {
	var calls []map[string]string
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		calls = append(calls, read(t, r.Header.Get("Content-Type"), r.Body))
		if len(calls) == 1 {
			refuse(400, "Bad Request: message to be replied not found")(w, r)
			return
		}
		answer(200, `{"ok":true,"result":{"message_id":7}}`)(w, r)
	})
	d := NewSender(SenderOptions{Client: client}).Deliver(t.Context(), filePart("sendVoice"))
	if d.Fate != attache.FateSent || len(calls) != 2 || calls[0]["reply_parameters"] == "" || calls[1]["reply_parameters"] != "" || calls[1]["voice note.ogg audio/ogg"] == "" {
		t.Errorf("%+v after %q", d, calls)
	}
}

func TestUploadHasTheTimeOfASlowLine(t *testing.T) {
	if uploadTimeout < 3*time.Minute {
		t.Errorf("20 MB within %v need a line that not everybody has", uploadTimeout)
	}
}

// Whatever a file is called and holds, the form says it and nothing else.
func TestFormTruths(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[^\x00-\x1f/\\]{1,40}`).Draw(rt, "name")
		f := attache.Upload{
			Name: name, MIME: rapid.StringMatching(`[a-z]+/[a-z]+`).Draw(rt, "mime"),
			Data: rapid.SliceOf(rapid.Byte()).Draw(rt, "data"),
		}
		text := rapid.String().Draw(rt, "caption")
		params, err := json.Marshal(map[string]any{"chat_id": 5, "caption": text})
		if err != nil {
			rt.Fatal(err)
		}
		body, err := form(params, "document", f)
		if err != nil {
			rt.Fatal(err)
		}
		for range 2 {
			b, err := io.ReadAll(body.open())
			if err != nil || int64(len(b)) != body.size {
				rt.Fatalf("%d bytes, announced %d, %v", len(b), body.size, err)
			}
			fields := read(t, body.kind, bytes.NewReader(b))
			if len(fields) != 3 || fields["chat_id"] != "5" || fields["caption"] != string([]rune(text)) {
				rt.Fatalf("%q", fields)
			}
		}
	})
}
