package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a newcomer gets wrong is answered with what is wrong, where, and what to
// type instead; nothing is made or started on a mistake.
func TestNewcomersMistakes(t *testing.T) {
	t.Setenv("TELEGRAM_BOT_TOKEN", "1:abcdef")
	t.Setenv("DATABASE_URL", "")
	dir := echoBrain(t, "0s")
	nowhere := filepath.Join(brainFiles(t, nil), "nowhere")
	for _, c := range []struct {
		args string
		code int
		say  string
	}{
		{"runn", 2, `did you mean "run"?`},
		{"run brain", 2, "attache run --help explains it"},
		{"run --brain", 2, "--brain: it needs a value"},
		{"run --brian " + dir, 2, "--brain"},
		{"run --brain " + nowhere, 2, "name yours with --brain"},
		{"run --log loud --brain " + dir, 2, "write text, json"},
		{"run --listen 8484 --brain " + dir, 2, "as in 127.0.0.1:8484"},
		{"run --public-url bot.example.org --brain " + dir, 2, "https://bot.example.org"},
		{"run --telegram-api-url localhost:8081 --brain " + dir, 2, "https://api.telegram.org"},
		{"run --database-url mysql://me:hush@db/x --brain " + dir, 1, "write postgres://"},
		{"turns twelve --brain " + dir, 2, `"twelve" is no number that fits here`},
		{"turns --limit some --brain " + dir, 2, `--limit: "some" is no number that fits here`},
		{"turns --brain " + nowhere, 2, "there is no brain in " + nowhere},
		{"turns --chat family --brain " + dir, 2, "tg:chat:<number>"},
		{"doctor --brain " + nowhere, 1, "attache init"},
		{"doctor brain", 2, "attache doctor --help explains it"},
		{"init", 2, "<dir> is missing"},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, out, errs := attacheCommand(strings.Fields(c.args)...)
			if code != c.code || !strings.Contains(errs, c.say) || out != "" {
				t.Errorf("exit code %d, want %d; %q is to be said:\n%s%s", code, c.code, c.say, errs, out)
			}
			if strings.Contains(errs, "hush") || strings.Contains(errs, "EOL") || strings.Contains(errs, "64 bit") {
				t.Errorf("it says %s", errs)
			}
		})
	}
	if _, err := os.Stat(nowhere); err == nil {
		t.Error("a folder was made where there is no brain")
	}
}

// Each command's help has an example to copy.
func TestHelpTeaches(t *testing.T) {
	for command, say := range map[string]string{
		"": "attache init brain", "run": "attache run --brain brain", "demo": "attache demo --brain ./brain", "init": "attache doctor --brain brain",
		"turns": "attache turns 12", "doctor": "attache doctor --json", "explain": "attache explain --chat",
	} {
		if code, out, _ := attacheCommand(append(strings.Fields(command), "--help")...); code != 0 || !strings.Contains(out, say) {
			t.Errorf("%s --help ends with %d and lacks %q:\n%s", command, code, say, out)
		}
	}
}
