package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	example "attache/brain-example"
)

// Brain gives the folder of the example brain: the one beside a checkout, or a copy in
// the data folder. A copy may have been edited, so a later example stands beside it,
// under another name.
func Brain(data string) (string, error) {
	if info, err := os.Stat("brain-example/constitution"); err == nil && info.IsDir() {
		return "brain-example", nil
	}
	sum, err := exampleSum()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(data, "brain-"+sum)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.CopyFS(dir, example.Files); err != nil {
		return "", fmt.Errorf("the example brain cannot be written to %s: %w; choose another folder with --data", dir, err)
	}
	return dir, nil
}

// exampleSum tells one state of the example from another.
func exampleSum() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(example.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := example.Files.ReadFile(name)
		fmt.Fprintf(sum, "%s %d %s", name, len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil))[:8], err
}
