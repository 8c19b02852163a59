package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"attache"
	"attache/internal/brain"
	"attache/internal/knowledge/lint"
	"attache/internal/knowledge/ods"
	"attache/internal/knowledge/reading"
)

// odsCommand groups what is done with folders of documents (interface § 1).
type odsCommand struct {
	Lint    odsLintCommand    `cmd:"" help:"Say everything that is wrong in a folder of documents; exit 1 if anything is an error."`
	Context odsContextCommand `cmd:"" help:"Print what is to be read for one document, in order and within a number of tokens."`
}

type odsLintCommand struct {
	Dir string `arg:"" optional:"" name:"dir" help:"The folder; left out: the nearest one upwards that has an ods.toml, else this one."`
}

type odsContextCommand struct {
	ID             string `arg:"" name:"id" help:"The document: its id, its path, or an end of its path."`
	MaxTokens      *int   `placeholder:"N" help:"Tokens of all texts together (o200k); left out: no limit."`
	MaxDepth       *int   `placeholder:"N" help:"Steps along depends; left out: what the document says, else 2."`
	WithCode       bool   `aliases:"include-code" help:"Also the files that the document names under code."`
	IncludeRelated bool   `help:"Also the documents that it names as related."`
	Privileged     bool   `help:"Private documents too."`
	JSON           bool   `name:"json" help:"Print JSON."`
}

// Run checks a folder: its findings on stdout, their number on stderr.
func (c odsLintCommand) Run(io stdio) error {
	dir := c.Dir
	if dir == "" {
		dir, _ = markedFolder()
	}
	root, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	w := ods.Read(root.FS(), isPack(dir))
	found, errs := lint.Check(w), 0
	for _, f := range found {
		fmt.Fprintln(io.out, f)
		if f.Level == ods.LevelError {
			errs++
		}
	}
	fmt.Fprintf(io.err, "documents: %d, errors: %d, warnings: %d\n", len(w.Documents()), errs, len(found)-errs)
	if !lint.OK(found) {
		return errFindings
	}
	return nil
}

// Run prints the reading list of a document of the workspace around this folder;
// where there is none, of the brain's knowledge. What keeps it from being made is an
// error, and nothing is printed.
func (c odsContextCommand) Run(f *flags, io stdio) error {
	o := reading.Options{MaxDepth: c.MaxDepth, WithCode: c.WithCode, WithRelated: c.IncludeRelated, Privileged: c.Privileged}
	if c.MaxTokens != nil {
		if o.MaxTokens = *c.MaxTokens; o.MaxTokens < 1 {
			return misused("--max-tokens must be at least 1; leave it out for no limit")
		}
	}
	if c.MaxDepth != nil && *c.MaxDepth < 0 {
		return misused("--max-depth must be 0 or more")
	}
	list, err := c.list(f, o)
	if err != nil {
		return err
	}
	for _, warning := range list.Warnings {
		fmt.Fprintln(io.err, "warning:", warning)
	}
	if !c.JSON {
		_, err = fmt.Fprint(io.out, list)
		return err
	}
	e := json.NewEncoder(io.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(list)
}

// list makes the reading list.
func (c odsContextCommand) list(f *flags, o reading.Options) (*reading.List, error) {
	dir, marked := markedFolder()
	if !marked {
		if b, _, err := brain.Load(f.Brain, nil); err == nil {
			shelf, d, err := b.Knowledge().Find(c.ID)
			if err != nil {
				return nil, err
			}
			return reading.Of(shelf.Workspace, d, o)
		}
	}
	root, err := openFolder(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	query, err := queryIn(dir, c.ID)
	if err != nil {
		return nil, err
	}
	return reading.Find(ods.Read(root.FS(), isPack(dir)), query, o)
}

// markedFolder gives the nearest folder upwards with an ods.toml, else this folder.
func markedFolder() (dir string, marked bool) {
	here, err := os.Getwd()
	if err != nil {
		return ".", false
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, ods.Marker)); err == nil && info.Mode().IsRegular() {
			return dir, true
		}
		if dir == filepath.Dir(dir) {
			return here, false
		}
	}
}

// openFolder opens a folder as a root that no link leads out of.
func openFolder(dir string) (*os.Root, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		say := fmt.Sprintf("the folder %s cannot be read", dir)
		if errors.Is(err, fs.ErrNotExist) {
			say = fmt.Sprintf("there is no folder %s", dir)
		}
		return nil, &attache.Error{Kind: attache.KindNotFound, Say: say + "; name the folder that has the ods.toml"}
	}
	return root, nil
}

// isPack reports whether a folder is a pack of a brain: knowledge/<pack> beside
// constitution or features, or of one of its packages.
func isPack(dir string) bool {
	abs, err := filepath.Abs(dir)
	if err != nil || filepath.Base(filepath.Dir(abs)) != "knowledge" {
		return false
	}
	top := filepath.Dir(filepath.Dir(abs))
	if packages := filepath.Dir(filepath.Dir(top)); filepath.Base(packages) == "packages" {
		top = filepath.Dir(packages)
	}
	for _, name := range []string{"constitution", "features"} {
		if info, err := os.Stat(filepath.Join(top, name)); err == nil && info.IsDir() {
			return true
		}
	}
	return false
}

// queryIn turns what was typed in this folder into a path from the workspace's root,
// where it is the path of a file; anything else stays what it is.
func queryIn(root, typed string) (string, error) {
	at := typed
	if !filepath.IsAbs(typed) {
		here, err := os.Getwd()
		if err != nil {
			return typed, nil
		}
		at = filepath.Join(here, typed)
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return typed, nil
	}
	below, err := filepath.Rel(root, at)
	inside := err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
	if filepath.IsAbs(typed) {
		if !inside {
			return "", &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf("%s does not stand in the workspace %s", typed, root)}
		}
		return filepath.ToSlash(below), nil
	}
	for _, ext := range []string{"", ".md"} {
		if info, err := os.Stat(at + ext); inside && err == nil && info.Mode().IsRegular() {
			return filepath.ToSlash(below) + ext, nil
		}
	}
	return typed, nil
}
