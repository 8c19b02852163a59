// Package starter is the brain that `attache init` writes: a few commented files that
// run and doctor accept, kept beside the code in the folder template.
package starter

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"attache"
	"attache/constitution"
	"attache/internal/brain"
	"attache/internal/doctor"
)

// template is the brain that `attache init` writes. Its .gitignore stands there
// without the dot, so that it does not act on this repository.
//
//go:embed template
var template embed.FS

// nobody is the number that the template has in place of its owner's. Telegram's
// numbers have at most 52 bits; this one has more, so it can never be somebody's.
const nobody = "tg:user:9999999999999999"

// Write writes the brain into a new or empty folder and says what to type next. owner
// is a person's number in Telegram, 0 for one who does not know it yet.
func Write(w io.Writer, dir string, owner int64) error {
	if owner < 0 {
		return misused("--owner %d is no person's number; a negative one is a group's", owner)
	}
	if dir == "" {
		return misused("the folder has no name; write one, as in attache init brain")
	}
	if err := empty(dir); err != nil {
		return err
	}
	written, err := write(dir, owner)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "A brain was written to %s:\n\n", dir)
	for _, file := range written {
		fmt.Fprintf(w, "  %-42s %s\n", file, purpose(file))
	}
	fmt.Fprintf(w, "\nNext, with a token from @BotFather and a key of your model:\n\n"+
		"  %[1]s doctor --brain %[2]s\n"+
		"  TELEGRAM_BOT_TOKEN=123456:ABC… OPENAI_API_KEY=sk-… %[1]s run --brain %[2]s\n", self(), shellWord(dir))
	if owner == 0 {
		fmt.Fprintf(w, "\nThen write to the bot. It keeps silent, and its log names your number: put it into\nconstitution/access.yaml in place of %s, save, and write again.\n", nobody)
	}
	return nil
}

func misused(format string, args ...any) error {
	return &attache.Error{Kind: attache.KindUsage, Say: fmt.Sprintf(format, args...)}
}

// empty makes sure that nothing of anybody's is in the folder.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s cannot be used as a folder: %w; name another one", dir, err)
	case len(entries) > 0:
		seen := max(slices.IndexFunc(entries, func(e fs.DirEntry) bool { return !strings.HasPrefix(e.Name(), ".") }), 0)
		return fmt.Errorf("%s is not empty (there is %s); name a new folder, so that nothing of yours is overwritten", dir, entries[seen].Name())
	}
	return nil
}

// write writes the files and gives their paths in the order in which to read them.
func write(dir string, owner int64) (written []string, err error) {
	err = fs.WalkDir(template, "template", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := template.ReadFile(name)
		if err != nil {
			return err
		}
		to := strings.TrimPrefix(name, "template/")
		if path.Base(to) == "gitignore" {
			to = ".gitignore"
		}
		if owner != 0 {
			text = []byte(ownedBy(string(text), attache.UserID(owner)))
		}
		file := filepath.Join(dir, filepath.FromSlash(to))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		written = append(written, to)
		return os.WriteFile(file, text, 0o644)
	})
	if err != nil {
		return nil, fmt.Errorf("the brain cannot be written: %w; name a folder that you may write to", err)
	}
	return written, nil
}

// ownedBy puts the owner in, and takes the advice out that is not needed then.
func ownedBy(text string, owner attache.PersonID) string {
	advice := "# nobody has this number; put yours in its place"
	return strings.ReplaceAll(strings.ReplaceAll(text, " "+advice, ""), nobody, string(owner))
}

// purpose says what a file of the template is for.
func purpose(file string) string {
	switch path.Base(file) {
	case "MANIFEST.yaml":
		return "name, time zone, models, arguments"
	case "access.yaml":
		return "who is answered, where, by which role"
	case "principles.md":
		return "what every role reads first"
	case "FEATURE.md":
		return "a feature: a folder that can be switched off"
	case "assistant.agent.md":
		return "a role: who the bot is, and what it may do"
	}
	return "keeps the program's own folder out of git"
}

// self is how this program was called, for commands to copy.
func self() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/bot"
	}
	return shellWord(os.Args[0])
}

// shellWord quotes a word for a shell where it needs it.
func shellWord(s string) string {
	if strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_-./") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Ownerless finds the placeholder of `attache init` where it still stands.
func Ownerless(b *brain.Brain) []doctor.Finding {
	file := b.Tree.File(constitution.AccessPath)
	if file == nil {
		return nil
	}
	before, _, found := strings.Cut(file.Text, nobody)
	if !found {
		return nil
	}
	line := strings.Count(before, "\n") + 1
	return []doctor.Finding{{Level: doctor.Note, Check: "Chat access", File: constitution.AccessPath, Line: line, Col: len(before) - strings.LastIndex(before, "\n"),
		What: nobody + " is the placeholder of `attache init`, and nobody's number",
		Do:   "put yours in its place; write to the running bot, and its log names it"}}
}
