package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"attache"
)

const testToken = "123456:AAsecretSecretSECRET"

// fakeAPI answers every call with handle and gives a client for it, whose log
// lands in the returned buffer.
func fakeAPI(t *testing.T, handle http.HandlerFunc) (*Client, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return clientFor(server.URL)
}

func clientFor(address string) (*Client, *bytes.Buffer) {
	var log bytes.Buffer
	return NewClient(ClientOptions{
		Bot:     "nova",
		Token:   attache.NewSecret(testToken),
		BaseURL: address,
		Log:     slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}), &log
}

// answer writes one JSON answer of the Bot API.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// cut reads the whole request, writes what it is given and closes the line.
func cut(written string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		io.WriteString(conn, written)
		conn.Close()
	}
}

func TestCallPostsTheExactBytesAndDecodesTheResult(t *testing.T) {
	var path, body, kind string
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		path, body, kind = r.URL.Path, string(b), r.Header.Get("Content-Type")
		answer(200, `{"ok":true,"result":{"message_id":7}}`)(w, r)
	})
	raw := json.RawMessage(`{ "chat_id": 5,  "text":"a<b" }`)
	var result struct {
		ID int `json:"message_id"`
	}
	if err := client.Call(t.Context(), "sendMessage", raw, &result); err != nil {
		t.Fatal(err)
	}
	if path != "/bot"+testToken+"/sendMessage" || body != string(raw) || kind != "application/json" || result.ID != 7 {
		t.Errorf("path %q, body %q, kind %q, result %v", path, body, kind, result)
	}
	if err := client.Call(t.Context(), "getMe", nil, nil); err != nil || body != "{}" {
		t.Errorf("no parameters: body %q, err %v", body, err)
	}
	if err := client.Call(t.Context(), "x", map[string]any{"n": 1}, nil); err != nil || body != `{"n":1}` {
		t.Errorf("a map: body %q, err %v", body, err)
	}
}

func TestCallErrors(t *testing.T) {
	long := strings.Repeat("x", 5000)
	tests := map[string]struct {
		handle  http.HandlerFunc
		code    int
		certain bool
		retry   time.Duration
		moved   attache.ChatID
		says    string
	}{
		"refused":           {answer(400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`), 400, true, 0, 0, "Bad Request: chat not found"},
		"refused with 200":  {answer(200, `{"ok":false,"error_code":403,"description":"Forbidden"}`), 403, true, 0, 0, "Forbidden"},
		"flood":             {answer(429, `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 7","parameters":{"retry_after":7}}`), 429, true, 7 * time.Second, 0, "Too Many"},
		"migrated":          {answer(400, `{"ok":false,"error_code":400,"description":"Bad Request: group chat was upgraded to a supergroup chat","parameters":{"migrate_to_chat_id":-1001234567890}}`), 400, true, 0, -1001234567890, "upgraded"},
		"server says no":    {answer(500, `{"ok":false,"error_code":500,"description":"Internal Server Error"}`), 500, true, 0, 0, "Internal"},
		"proxy page":        {answer(502, "<html>\n<h1>Bad Gateway</h1>"+long), 502, false, 0, 0, "<html> <h1>Bad Gateway</h1>xxx"},
		"proxy too large":   {answer(413, "<html>too large</html>"), 413, true, 0, 0, "too large"},
		"page with 200":     {answer(200, "<html>hello</html>"), 200, false, 0, 0, "not an answer"},
		"empty object":      {answer(200, "{}"), 200, false, 0, 0, "not an answer"},
		"half JSON":         {answer(200, `{"ok":true,"result":{"message_id":`), 200, false, 0, 0, "not an answer"},
		"other result":      {answer(200, `{"ok":true,"result":"yes"}`), 200, false, 0, 0, "another form"},
		"cut before answer": {cut(""), 0, false, 0, 0, "EOF"},
		"truncated 200":     {cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"ok\":true"), 0, false, 0, 0, "was cut"},
		"redirect":          {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) }, 307, false, 0, 0, "not an answer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			client, log := fakeAPI(t, test.handle)
			var result struct{}
			err := client.Call(t.Context(), "sendMessage", nil, &result)
			e, ok := errors.AsType[*CallError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.Code != test.code || e.Certain != test.certain || e.RetryAfter != test.retry || e.MigrateTo != test.moved || !strings.Contains(e.Error(), test.says) {
				t.Errorf("got %+v", e)
			}
			if len([]rune(e.Description)) > 300 {
				t.Errorf("the description has %d bytes", len(e.Description))
			}
			noToken(t, err.Error(), log.String())
		})
	}
}

// noToken fails when one of the texts gives the token away.
func noToken(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if strings.Contains(s, "AAsecret") {
			t.Errorf("the token is in %q", s)
		}
	}
}

func TestCallThatNeverLeftIsCertain(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://" + listener.Addr().String()
	listener.Close()
	for _, address := range []string{dead, "http://no.such.host.invalid", "http://[::1", "ftp://127.0.0.1"} {
		client, log := clientFor(address)
		err := client.Call(t.Context(), "sendMessage", nil, nil)
		e, ok := errors.AsType[*CallError](err)
		if !ok || !e.Certain || e.Code != 0 {
			t.Errorf("%s: %+v", address, e)
		}
		noToken(t, err.Error(), log.String())
	}
	client := NewClient(ClientOptions{Token: attache.NewSecret("bad\ntoken")})
	if err := client.Call(t.Context(), "getMe", nil, nil); err == nil || strings.Contains(err.Error(), "bad") {
		t.Errorf("a token that is no part of an address: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client, _ = clientFor(dead)
	err = client.Call(ctx, "getMe", nil, nil)
	if e, ok := errors.AsType[*CallError](err); !ok || !e.Certain || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %v", err)
	}
}

func TestCallCancelledAfterItWasWrittenIsUncertain(t *testing.T) {
	arrived, release := make(chan bool), make(chan bool)
	client, log := fakeAPI(t, func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		arrived <- true
		<-release
	})
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	err := client.Call(ctx, "sendMessage", nil, nil)
	if e, ok := errors.AsType[*CallError](err); !ok || e.Certain || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	noToken(t, err.Error(), log.String())
}

// A server that stops reading in the middle of a body never has a whole request.
func TestCallCutWhileWritingIsNeverASuccess(t *testing.T) {
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
	client, _ := clientFor("http://" + listener.Addr().String())
	body := json.RawMessage(`{"text":"` + strings.Repeat("x", 32<<20) + `"}`)
	err = client.Call(t.Context(), "sendMessage", body, nil)
	if e, ok := errors.AsType[*CallError](err); !ok || e.Code != 0 {
		t.Errorf("got %v", err)
	}
}

func TestSecondCallReusesTheLine(t *testing.T) {
	seen := map[string]bool{}
	client, _ := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		answer(200, `{"ok":true,"result":true}`)(w, r)
	})
	for range 5 {
		if err := client.Call(t.Context(), "getMe", nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 1 {
		t.Errorf("5 calls took %d connections", len(seen))
	}
}
