package builtin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"attache"
)

// largestFile is what goes out at most. Telegram takes 50 MB of a bot and gives one
// back 20 MB at most; a file is held in memory and in the database while it is sent.
const largestFile = 20 << 20

// brainFolder is the folder of the brain whose files every agent may send.
const brainFolder = "assets"

// open reads the file that a path names: assets/… of the brain, anything else from
// the folder of the turn's place. What is not below one of the two is out of reach,
// by whatever way: .., a link, or the name of a device.
func (d Deps) open(c attache.Call, name string) (data []byte, why string) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Sprintf("the path %q leads out of the folders whose files can be sent; write assets/… of the brain, or a path below this place's own folder", name)
	}
	base, folder, name := d.Files, Folder(c.Place, c.Pin), path.Clean(filepath.ToSlash(name))
	switch rest, ok := strings.CutPrefix(name, brainFolder+"/"); {
	case ok:
		base, folder, name = d.Brain, brainFolder, rest
	case c.Place.Chat == 0:
		return nil, "this run has no place and so no folder of its own; only assets/… of the brain can be sent"
	case folder == "":
		return nil, "what this place is bound to could not be read, so neither is its folder; send assets/… of the brain, or try again in a later turn"
	}
	data, err := readBelow(base, folder, name)
	var known *attache.Error
	switch {
	case errors.As(err, &known):
		return nil, known.Say
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Sprintf("there is no file %q; write assets/… of the brain, or a path below this place's own folder", path.Join(shown(folder), name))
	case err != nil:
		return nil, fmt.Sprintf("%q cannot be read: it leads out of its folder, or the program may not read it", path.Join(shown(folder), name))
	}
	return data, ""
}

// shown is a folder as paths name it: that of the place goes without saying.
func shown(folder string) string {
	if folder == brainFolder {
		return folder
	}
	return ""
}

// readBelow reads a file below a folder. os.Root follows no link out of it.
func readBelow(base, folder, name string) ([]byte, error) {
	top, err := os.OpenRoot(base)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	root, err := top.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Without O_NONBLOCK a named pipe would be waited for, and nobody writes into it.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, no("%q is a folder or a device and no file", name)
	case info.Size() > largestFile:
		return nil, no("%q has %d MB and at most %d are sent", name, info.Size()>>20, largestFile>>20)
	}
	data, err := io.ReadAll(io.LimitReader(f, largestFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0:
		return nil, no("%q is empty, and Telegram takes no empty files", name)
	case len(data) > largestFile:
		return nil, no("%q grows while it is read", name)
	}
	return data, nil
}

func no(format string, args ...any) error {
	return &attache.Error{Kind: attache.KindRefused, Say: fmt.Sprintf(format, args...)}
}

// plainName says what is wrong with a file's name, "" for nothing. What a chat shows
// must be what it is: no folders, and no characters that turn the ending around.
func plainName(name string) string {
	const longest = 200
	switch {
	case strings.TrimSpace(name) == "" || strings.Trim(name, ".") == "":
		return "the file has no name; give it a plain one with its ending, such as report.pdf"
	case strings.ContainsAny(name, `/\`):
		return fmt.Sprintf("the name %q holds a folder; give a plain file name, such as report.pdf", name)
	case len(name) > longest:
		return fmt.Sprintf("the name has %d bytes and at most %d are taken; give a shorter one", len(name), longest)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Sprintf("the name %q holds a character that does not show; give a plain file name, such as report.pdf", name)
	}
	return ""
}
