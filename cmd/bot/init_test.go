package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"attache/internal/doctor"
	"attache/internal/model/modeltest"
)

// attacheCommand runs a command line to its end.
func attacheCommand(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(context.Background(), args, stdio{strings.NewReader(""), &o, &e})
	return code, o.String(), e.String()
}

// initialised writes the brain of `attache init` and gives its folder.
func initialised(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(brainFiles(t, nil), "my brain")
	if code, out, errs := attacheCommand(append([]string{"init", dir}, args...)...); code != 0 {
		t.Fatalf("init ended with %d\n%s%s", code, out, errs)
	}
	return dir
}

// The doctor accepts what init writes: without a token and a key these are all
// that fails or is warned of; with them, and an owner, all is well.
func TestInitThenDoctor(t *testing.T) {
	s := newStage(t)
	t.Setenv("TELEGRAM_BOT_TOKEN", "")
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	where := []string{"--database-url", s.dsn, "--telegram-api-url", s.url}
	code, out, _ := attacheCommand(append([]string{"doctor", "--json", "--brain", initialised(t)}, where...)...)
	var got struct{ Findings []doctor.Finding }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, f := range got.Findings {
		told = append(told, string(f.Level)+" "+f.Check)
	}
	if want := []string{"note Chat access", "warn Models", "fail Telegram"}; !slices.Equal(told, want) || code != 1 {
		t.Errorf("exit code %d, findings %q, want %q", code, told, want)
	}
	t.Setenv("TELEGRAM_BOT_TOKEN", s.bot.Token)
	t.Setenv("OPENAI_API_KEY", "a-key")
	t.Setenv("OPENAI_BASE_URL", modeltest.New(t).URL)
	code, out, errs := attacheCommand(append([]string{"doctor", "--brain", initialised(t, "--owner", "5")}, where...)...)
	if code != 0 || out != "all is well\n" {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

// README's five minutes, as a newcomer types them: its own lines, the binary, a
// private Postgres in the brain. Write the brain, run it, write to the bot, put the
// number that the log names into access.yaml, and the bot answers.
//
// row N1 (from nothing to an answering bot)
func TestFiveMinutesOfREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	typed := regexp.MustCompile(`(?m)^ +bin/attache ([^#\n]+)`).FindAllStringSubmatch(string(readme), -1)
	if len(typed) != 3 {
		t.Fatalf("README has %d commands to type, want init, doctor and run", len(typed))
	}
	s := newStage(t)
	m := modeltest.New(t, modeltest.Rule{Answer: modeltest.Text("Hello **Ann**.")})
	home := brainFiles(t, nil)
	env := []string{"TELEGRAM_BOT_TOKEN=" + s.bot.Token, "OPENAI_API_KEY=a-key", "OPENAI_BASE_URL=" + m.URL,
		"TELEGRAM_API_URL=" + s.url, "ATTACHE_LISTEN=off", "DATABASE_URL="}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, line := range typed {
		c := exec.CommandContext(ctx, binary(t), strings.Fields(line[1])...)
		c.Dir, c.Env = home, append(os.Environ(), env...)
		if i < 2 {
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line[0], err, out)
			}
			continue
		}
		s.log = &logBuffer{}
		c.Stdout, c.Stderr = s.log, s.log
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			cancel()
			if err := c.Wait(); err != nil && c.ProcessState.ExitCode() != 0 {
				t.Errorf("run ended badly: %v\n%s", err, s.log)
			}
		}()
	}
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "hello?")
	s.logged("add tg:user:5 there to answer them")
	file := filepath.Join(home, "brain", "constitution", "access.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "brain"), "constitution/access.yaml", strings.ReplaceAll(string(text), "tg:user:9999999999999999", "tg:user:5"))
	s.logged("the brain was read again")
	dm.Say(s.ann, "hello?")
	if got := s.await(dm, 1); got[0] != "Hello Ann." {
		t.Errorf("the bot says %q", got)
	}
	if system := m.Requests()[0].Messages[0].Text(); !strings.Contains(system, "the assistant of our little office") || strings.Contains(system, "{{") {
		t.Errorf("the static prompt is %s", system)
	}
}

// A run without a model starts, says at once what is missing, and tells the chat
// that it could not answer.
func TestRunWithoutAModel(t *testing.T) {
	s := newStage(t)
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	s.start("--brain", initialised(t, "--owner", "5"))
	s.logged("the role assistant cannot answer: there is no model to ask: set OPENAI_API_KEY")
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "hello?")
	if got := s.await(dm, 1); !strings.Contains(got[0], "turn 1") {
		t.Errorf("the chat is told %q", got)
	}
}

func TestInitRefuses(t *testing.T) {
	full := brainFiles(t, map[string]string{".attache/state": "the bot's", "mine.txt": "mine"})
	for _, c := range []struct {
		name string
		args []string
		code int
		say  string
	}{
		{"a folder that is not empty", []string{full}, 1, "is not empty (there is mine.txt)"},
		{"a file", []string{filepath.Join(full, "mine.txt")}, 1, "name another one"},
		{"no folder", nil, 2, "<dir> is missing"},
		{"a group as owner", []string{filepath.Join(full, "new"), "--owner=-1001"}, 2, "no person's number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, out, errs := attacheCommand(append([]string{"init"}, c.args...)...)
			if code != c.code || !strings.Contains(errs, c.say) || out != "" {
				t.Errorf("exit code %d, want %d: %s%s", code, c.code, out, errs)
			}
		})
	}
	if left, err := os.ReadDir(full); err != nil || len(left) != 2 {
		t.Errorf("the folder holds %v now, %v", left, err)
	}
}

// logged waits until the log of a running program holds a text.
func (s *stage) logged(text string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	for !strings.Contains(s.log.String(), text) {
		if pause(ctx) != nil {
			s.t.Fatalf("the log never says %q\n%s", text, s.log)
		}
	}
}

// `attache init "$DIR"` with DIR unset must not write over what stands here.
func TestInitNeedsAName(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	if code := run(context.Background(), []string{"init", ""}, stdio{strings.NewReader(""), &out, &out}); code != 2 || !strings.Contains(out.String(), "no name") {
		t.Errorf("code %d: %s", code, &out)
	}
	if left, err := os.ReadDir("."); err != nil || len(left) > 0 {
		t.Errorf("it wrote %v, %v", left, err)
	}
}
