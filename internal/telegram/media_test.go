package telegram

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"attache"
)

func TestDownload(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 992)
	file := func(rest string) string { return `{"ok":true,"result":{"file_id":"F"` + rest + `}}` }
	tests := map[string]struct {
		getFile  string
		status   int
		max      int64
		kind     attache.ErrorKind // empty: it succeeds
		says     string
		fetching bool
	}{
		"whole":             {file(`,"file_path":"photos/file 1.png","file_size":1000`), 200, 1000, "", "", true},
		"size not told":     {file(`,"file_path":"photos/file 1.png"`), 200, 1000, "", "", true},
		"too large, told":   {file(`,"file_path":"photos/file 1.png","file_size":1000`), 200, 999, attache.KindRefused, "larger than 0 MB", false},
		"too large, hidden": {file(`,"file_path":"photos/file 1.png"`), 200, 999, attache.KindRefused, "longer than Telegram said", true},
		"too big for bots":  {`{"ok":false,"error_code":400,"description":"Bad Request: file is too big"}`, 200, 20 << 20, attache.KindRefused, "larger than 20 MB", false},
		"expired":           {`{"ok":false,"error_code":400,"description":"Bad Request: wrong file_id"}`, 200, 1000, attache.KindOutside, "wrong file_id", false},
		"gone":              {file(`,"file_path":"photos/file 1.png"`), 404, 1000, attache.KindOutside, "HTTP 404", true},
		"no path":           {file(``), 200, 1000, attache.KindOutside, "not the path", false},
		"strange path":      {file(`,"file_path":"../../bot1/logOut"`), 200, 1000, attache.KindOutside, "not the path", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fetched := false
			client, log := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/bot" + testToken + "/getFile":
					status := 200
					if strings.Contains(test.getFile, `"ok":false`) {
						status = 400
					}
					answer(status, test.getFile)(w, r)
				case "/file/bot" + testToken + "/photos/file 1.png":
					fetched = true
					w.WriteHeader(test.status)
					io.WriteString(w, png)
				default:
					t.Errorf("asked for %s", r.URL.Path)
				}
			})
			data, mime, err := client.Download(t.Context(), "F", test.max)
			if fetched != test.fetching {
				t.Errorf("fetched: %v", fetched)
			}
			if test.kind == "" {
				if err != nil || string(data) != png || mime != "image/png" {
					t.Errorf("%d bytes of %s, %v", len(data), mime, err)
				}
				return
			}
			e, ok := errors.AsType[*attache.Error](err)
			if !ok || e.Kind != test.kind || !strings.Contains(err.Error(), test.says) || data != nil {
				t.Errorf("got %v", err)
			}
			noToken(t, fmt.Sprint(err), log.String())
		})
	}
	t.Run("cut and unreachable", func(t *testing.T) {
		client, log := fakeAPI(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "getFile") {
				answer(200, file(`,"file_path":"a/b"`))(w, r)
				return
			}
			cut("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")(w, r)
		})
		_, _, err := client.Download(t.Context(), "F", 1000)
		if e, ok := errors.AsType[*attache.Error](err); !ok || e.Kind != attache.KindOutside {
			t.Errorf("got %v", err)
		}
		noToken(t, fmt.Sprint(err), log.String())
		client, _ = clientFor("http://127.0.0.1:1")
		if _, err := client.fetchFile(t.Context(), "a/b", 10); err == nil {
			t.Error("no error")
		} else {
			noToken(t, err.Error())
		}
	})
}
