package attache_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"attache"
)

// Whatever prints a value that holds a secret, wherever it stands in it, the
// secret is not in what was printed.
func TestSecretsDoNotPrint(t *testing.T) {
	const key = "sk-hunter2"
	secret := attache.NewSecret(key)
	type inner struct{ hidden attache.Secret }
	type holder struct {
		Shown  attache.Secret
		hidden attache.Secret
		deep   *inner
		list   []inner
		table  map[string]inner
		any    any
	}
	in := inner{secret}
	values := map[string]any{
		"alone":  secret,
		"by ref": &secret,
		"held":   holder{secret, secret, &in, []inner{in}, map[string]inner{"a": in}, in},
		"ref":    &holder{Shown: secret, hidden: secret, deep: &in},
		"list":   []attache.Secret{secret},
		"table":  map[string]attache.Secret{"a": secret},
		"error":  fmt.Errorf("%v: %w", in, errors.New("x")),
	}
	forms := []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%c", "%U", "%b", "%o", "%e", "%p"}
	leaks := func(s string) bool {
		hexed := fmt.Sprintf("%x", key)
		return strings.Contains(s, "hunter2") || strings.Contains(strings.ToLower(s), hexed)
	}
	for name, v := range values {
		for _, form := range forms {
			if got := fmt.Sprintf(form, v); leaks(got) {
				t.Errorf("%s with %s: %s", name, form, got)
			}
		}
		if b, err := json.Marshal(v); leaks(string(b)) || err != nil {
			t.Errorf("%s as JSON: %s %v", name, b, err)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "why", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "why", v)
		if leaks(log.String()) {
			t.Errorf("%s in a log: %s", name, log.String())
		}
	}
	if got := fmt.Sprint(secret, attache.Secret{}); got != "[secret] [secret]" {
		t.Error(got)
	}
	if secret.Reveal() != key || secret.Empty() || secret != attache.NewSecret("sk-"+"hunter"+fmt.Sprint(2)) {
		t.Error("the value is gone, or equal secrets are not equal")
	}
	if none := attache.NewSecret(""); !none.Empty() || none.Reveal() != "" || none != (attache.Secret{}) {
		t.Error("a secret without a value is no secret")
	}
}

// A problem is one line, whatever the file is called.
func TestAProblemIsOneLine(t *testing.T) {
	for file, want := range map[string]string{
		"a b/ü.md": "a b/ü.md:3:1: wrong; mend it", "a\nfail  b.md": `"a\nfail  b.md":3:1: wrong; mend it`,
		"\x1b[2J.md": `"\x1b[2J.md":3:1: wrong; mend it`, "\xff.md": `"\xff.md":3:1: wrong; mend it`, "\u202e.md": `"\u202e.md":3:1: wrong; mend it`,
	} {
		if got := (attache.Problem{File: file, Line: 3, What: "wrong", Do: "mend it"}).Error(); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
