package postgres

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestMajor is the lowest version that state views may count on (architecture § 4).
const oldestMajor = 15

// install is one folder with a server's programs.
type install struct {
	bin   string // holds postgres and initdb
	major int
}

// places is where distributions put servers that are not on PATH. Debian keeps
// initdb off PATH on purpose; Homebrew does not link versioned formulas.
func places() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",         // Debian, Ubuntu
		"/usr/pgsql-*/bin",                  // PGDG's RPMs
		"/usr/libexec/postgresql*",          // Alpine
		"/opt/homebrew/opt/postgresql*/bin", // Homebrew on Apple silicon
		"/usr/local/opt/postgresql*/bin",    // Homebrew on Intel
		"/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	}
}

// find gives the first install on PATH, else the newest of the usual places.
// want is the major version that the data folder needs, 0 for any. The second
// result names what was there but did not fit, for the sentence to the operator.
func find(ctx context.Context, want int, globs []string) (found install, others []install) {
	fits := func(i install) bool { return i.major >= oldestMajor && (want == 0 || i.major == want) }
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if i, ok := inspect(ctx, dir); ok {
			if fits(i) {
				return i, nil
			}
			others = append(others, i)
		}
	}
	var rest []install
	for _, glob := range globs {
		dirs, _ := filepath.Glob(glob) // the patterns are ours and well-formed
		for _, dir := range dirs {
			if i, ok := inspect(ctx, dir); ok {
				rest = append(rest, i)
			}
		}
	}
	slices.SortStableFunc(rest, func(a, b install) int { return b.major - a.major })
	for _, i := range rest {
		if fits(i) {
			return i, nil
		}
	}
	return install{}, append(others, rest...)
}

// versionInPath reads the major version off a folder's name, which spares
// running the program.
var versionInPath = regexp.MustCompile(`(?:postgresql/|pgsql-|postgresql@|postgresql|Versions/)(\d{1,2})(?:[./]|$)`)

// inspect tells whether a folder holds both programs and of which version they
// are. Links are followed: a server looks for its libraries beside the real file.
func inspect(ctx context.Context, dir string) (install, bool) {
	if !filepath.IsAbs(dir) { // PATH may hold "."; a server found there is not trusted
		return install{}, false
	}
	real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres"))
	if err != nil {
		return install{}, false
	}
	bin := filepath.Dir(real)
	if _, err := os.Stat(filepath.Join(bin, "initdb")); err != nil {
		return install{}, false
	}
	if m := versionInPath.FindStringSubmatch(filepath.ToSlash(bin)); m != nil {
		major, _ := strconv.Atoi(m[1]) // two digits at most
		return install{bin, major}, true
	}
	out, err := exec.CommandContext(ctx, real, "--version").Output()
	if err != nil {
		return install{}, false
	}
	return install{bin, majorIn(string(out))}, true
}

// majorIn reads "postgres (PostgreSQL) 15.18 (Debian …)" or a file PG_VERSION; 0
// means that there is no version in it.
func majorIn(text string) int {
	for _, word := range strings.Fields(text) {
		digits := word[:len(word)-len(strings.TrimLeft(word, "0123456789"))]
		if n, err := strconv.Atoi(digits); err == nil {
			return n
		}
	}
	return 0
}

// wrongVersion says what to do about a data folder that no server here fits.
func wrongVersion(data string, want int, others []install) error {
	for _, i := range others {
		if i.major > want {
			return fmt.Errorf("%[1]s was made by Postgres %[2]d and only %[3]d is here; install %[2]d (Debian: apt install postgresql-%[2]d), or move the data with both installed: "+
				"mv %[1]s %[1]s-%[2]d && %[4]s/initdb -D %[1]s -U attache -A trust -E UTF8 --locale=C && %[4]s/pg_upgrade -U attache -b <folder of %[2]d's programs> -B %[4]s -d %[1]s-%[2]d -D %[1]s",
				data, want, i.major, i.bin)
		}
	}
	return fmt.Errorf("%[1]s was made by Postgres %[2]d, which is not here; install it (Debian: apt install postgresql-%[2]d) or give another --data", data, want)
}
