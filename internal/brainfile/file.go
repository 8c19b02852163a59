package brainfile

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"attache"
)

// maxBytes is the size over which a file is refused: a brain's files are written
// by hand, and one that is larger got there by mistake.
const maxBytes = 1 << 20

// File is one text file of a brain. It is never changed; an edit makes another.
type File struct {
	Path string   // from the brain's root, forward slashes
	Text string   // as written, without a byte order mark, lines ended by \n alone
	Hash [32]byte // SHA-256 of Text
	// Trouble says why there is no Text: not UTF-8, too large, a link that
	// leaves the brain. Nil when the file was read. It is the business of whoever
	// needs the file, so an odd file that nobody needs troubles nobody.
	Trouble *attache.Problem

	mu   sync.Mutex
	made map[reflect.Type]any
}

// New makes a file from its bytes, as if it had been read at path.
func New(path string, text []byte) *File {
	f := &File{Path: path}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	switch at := invalid(text); {
	case len(text) > maxBytes:
		f.trouble(1, 1, fmt.Sprintf("the file is larger than %d KiB", maxBytes>>10), "split it, or keep it outside the brain")
	case at >= 0:
		before := text[:at]
		line := bytes.Count(before, []byte("\n"))
		col := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
		f.trouble(line+1, col+1, "the file is not UTF-8 text", "save it as UTF-8")
	default:
		f.Text = strings.ReplaceAll(strings.ReplaceAll(string(text), "\r\n", "\n"), "\r", "\n")
	}
	f.Hash = sha256.Sum256([]byte(f.Text))
	return f
}

// invalid gives the offset of the first byte that is no UTF-8 text, or -1. A NUL
// is valid UTF-8 and no text.
func invalid(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 || r == 0 {
			return i
		}
		i += n
	}
	return -1
}

func (f *File) trouble(line, col int, what, do string) {
	p := f.Wrong(line, col, what, do)
	f.Trouble = &p
}

// Wrong makes a problem that stands in this file; line and column count from 1.
func (f *File) Wrong(line, col int, what, do string) attache.Problem {
	return attache.Problem{File: f.Path, Line: line, Col: col, What: what, Do: do}
}

// Once gives what make makes of a file, and makes it once for as long as the
// file's text stays the same, also over reloads of the brain. So make must depend
// on the file alone. One value of each type T is kept.
func Once[T any](f *File, make func(*File) T) T {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := reflect.TypeFor[T]()
	if v, ok := f.made[key]; ok {
		return v.(T)
	}
	v := make(f)
	if f.made == nil {
		f.made = map[reflect.Type]any{}
	}
	f.made[key] = v
	return v
}

// read takes one file through the door of the brain. It follows links inside the
// brain only, and never opens what is no regular file: opening a pipe would wait
// for its writer.
func read(root *os.Root, path string) *File {
	bad := func(what, do string) *File {
		f := &File{Path: path}
		f.trouble(1, 1, what, do)
		return f
	}
	info, err := root.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !isLink(root, path):
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return bad("the link leads to nothing", "remove it or put the file there")
	case err != nil && isLink(root, path):
		return bad("the link leads out of the brain", "put the file itself here, or link to it by a relative path inside the brain")
	case err != nil:
		return bad("the file is not readable: "+reason(err), "give the bot the right to read it")
	case !info.Mode().IsRegular():
		return bad("this is no regular file", "remove it from the brain")
	}
	file, err := root.Open(path)
	if err != nil {
		return bad("the file is not readable: "+reason(err), "give the bot the right to read it")
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+4))
	if err != nil {
		return bad("the file is not readable: "+reason(err), "look at the disk")
	}
	return New(path, text)
}

func isLink(root *os.Root, path string) bool {
	info, err := root.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// reason strips the path from an error of the file system: a problem has it.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}
