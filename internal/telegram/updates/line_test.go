package updates

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"attache"
	"attache/internal/telegram"
)

const testToken = "123456:AAsecretSecretSECRET"

// fakeAPI answers every call with handle and gives a client for it, whose log
// lands in the returned buffer.
func fakeAPI(t *testing.T, handle http.HandlerFunc) (*telegram.Client, *bytes.Buffer) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	var log bytes.Buffer
	return telegram.NewClient(telegram.ClientOptions{
		Bot:     "nova",
		Token:   attache.NewSecret(testToken),
		BaseURL: server.URL,
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

// noToken fails when one of the texts gives the token away.
func noToken(t *testing.T, texts ...string) {
	t.Helper()
	for _, s := range texts {
		if strings.Contains(s, "AAsecret") {
			t.Errorf("the token is in %q", s)
		}
	}
}
