package constitution

import (
	"regexp"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
)

// Zone is a time zone by its name in the IANA database.
type Zone struct{ *time.Location }

// UnmarshalText finds the zone.
func (z *Zone) UnmarshalText(text []byte) error {
	zone, err := brainfile.Zone(string(text))
	if err == nil {
		z.Location = zone
	}
	return err
}

// Setting is a text that may be kept outside the brain: `env:NAME` takes it from
// the environment when it is needed. It may be a key, so it never prints itself.
type Setting struct {
	env     string
	literal attache.Secret
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// UnmarshalText reads a literal or env:NAME.
func (s *Setting) UnmarshalText(text []byte) error {
	name, fromEnv := strings.CutPrefix(string(text), "env:")
	switch {
	case !fromEnv:
		*s = Setting{literal: attache.NewSecret(name)}
		return nil
	case !envName.MatchString(name):
		return attache.Problem{What: "env: needs the name of a variable", Do: "write it as env:NAME"}
	}
	*s = Setting{env: name}
	return nil
}

// Given reports whether the setting was written at all.
func (s Setting) Given() bool { return s.env != "" || !s.literal.Empty() }

// Env gives the variable that holds the value, "" for a literal.
func (s Setting) Env() string { return s.env }

// Resolve gives the value; getenv knows of NAME_FILE where that matters.
func (s Setting) Resolve(getenv func(name string) string) attache.Secret {
	if s.env != "" {
		return attache.NewSecret(getenv(s.env))
	}
	return s.literal
}
