package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
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

type initCommand struct {
	Dir   string `arg:"" name:"dir" help:"The folder to write: a new one, or an empty one."`
	Owner int64  `placeholder:"NUMBER" help:"Your number in Telegram, if you know it; the bot's log names it when you write to the bot."`
}

// Help shows what comes next.
func (initCommand) Help() string {
	return `For example:

  attache init brain                      write it
  attache doctor --brain brain            check it
  attache run --brain brain               run it, with TELEGRAM_BOT_TOKEN and OPENAI_API_KEY set

Each file says in comments what it is for. Everything in the folder is yours to change;
the program itself only writes to .attache in it.`
}

// Run writes the brain and says what to type next.
func (c initCommand) Run(io stdio) error {
	if c.Owner < 0 {
		return misused("--owner %d is no person's number; a negative one is a group's", c.Owner)
	}
	if c.Dir == "" {
		return misused("the folder has no name; write one, as in attache init brain")
	}
	if err := empty(c.Dir); err != nil {
		return err
	}
	written, err := c.write()
	if err != nil {
		return err
	}
	fmt.Fprintf(io.out, "A brain was written to %s:\n\n", c.Dir)
	for _, w := range written {
		fmt.Fprintf(io.out, "  %-42s %s\n", w, purpose(w))
	}
	fmt.Fprintf(io.out, "\nNext, with a token from @BotFather and a key of your model:\n\n"+
		"  %[1]s doctor --brain %[2]s\n"+
		"  TELEGRAM_BOT_TOKEN=123456:ABC… OPENAI_API_KEY=sk-… %[1]s run --brain %[2]s\n", self(), shellWord(c.Dir))
	if c.Owner == 0 {
		fmt.Fprintf(io.out, "\nThen write to the bot. It keeps silent, and its log names your number: put it into\nconstitution/access.yaml in place of %s, save, and write again.\n", nobody)
	}
	return nil
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
		return fmt.Errorf("%s is not empty (there is %s); name a new folder, so that nothing of yours is overwritten", dir, entries[0].Name())
	}
	return nil
}

// write writes the files and gives their paths in the order in which to read them.
func (c initCommand) write() (written []string, err error) {
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
		if c.Owner != 0 {
			text = []byte(ownedBy(string(text), attache.UserID(c.Owner)))
		}
		file := filepath.Join(c.Dir, filepath.FromSlash(to))
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

// ownerless finds the placeholder of `attache init` where it still stands.
func ownerless(b *brain.Brain) []doctor.Finding {
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
