package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/alecthomas/kong"
)

var (
	noValue  = regexp.MustCompile(`expected .* value but got "EOL" \(<EOL>\)`)
	noArg    = regexp.MustCompile(`^expected "(<\w+>)"$`)
	noNumber = regexp.MustCompile(`expected a valid \d+ bit (?:u?int) but got ("[^"]*")`)
)

// wrongUsage says what is wrong with a command line, and where to read more.
func wrongUsage(err error) string {
	say := noValue.ReplaceAllString(err.Error(), "it needs a value")
	say = noNumber.ReplaceAllString(say, "$1 is no whole number")
	say = noArg.ReplaceAllString(say, "$1 is missing")
	more := "attache --help lists the commands, attache COMMAND --help explains one"
	if e, ok := errors.AsType[*kong.ParseError](err); ok && e.Context != nil && e.Context.Selected() != nil {
		more = fmt.Sprintf("attache %s --help explains it", e.Context.Selected().Name)
	}
	return say + "\n" + more
}

// check looks at the flags of `run` before anything is started on them.
func (f *flags) check() error {
	if !webAddress(f.TelegramAPI) {
		return misused("--telegram-api-url (or TELEGRAM_API_URL) is %q, which is no web address; write it as https://api.telegram.org, or leave it out", f.TelegramAPI)
	}
	if f.PublicURL != "" && !webAddress(f.PublicURL) {
		return misused("--public-url (or ATTACHE_PUBLIC_URL) is %q, which is no web address; write it as https://bot.example.org, or leave it out for long polling", f.PublicURL)
	}
	if f.Listen == "off" {
		return nil
	}
	if _, _, err := net.SplitHostPort(f.Listen); err != nil {
		return misused("--listen (or ATTACHE_LISTEN) is %q; write host:port, as in 127.0.0.1:8484, or off for no HTTP", f.Listen)
	}
	return nil
}

// checkBrain makes sure that there is a brain whose records a command can look at,
// so that a wrong --brain does not become a new folder with an empty database.
func (f *flags) checkBrain() error {
	if f.Data != "" || f.DatabaseURL != "" || lookup("DATABASE_URL") != "" {
		return nil
	}
	for _, folder := range []string{"constitution", "features"} {
		if info, err := os.Stat(filepath.Join(f.Brain, folder)); err == nil && info.IsDir() {
			return nil
		}
	}
	return misused("there is no brain in %s, and so no records; name yours with --brain, or its records with --data or --database-url", f.Brain)
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

var negative = regexp.MustCompile(`^-[0-9]+$`)

// joined writes "--chat -1001" as "--chat=-1001": the numbers of groups are negative,
// and alone they would be taken for flags. What follows "--" is nobody's value.
func joined(args []string) []string {
	var out []string
	for i, a := range args {
		n := len(out)
		if a == "--" {
			return append(out, args[i:]...)
		}
		if n > 0 && negative.MatchString(a) && strings.HasPrefix(out[n-1], "--") && !strings.Contains(out[n-1], "=") {
			out[n-1] += "=" + a
			continue
		}
		out = append(out, a)
	}
	return out
}
