package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"attache"
	"attache/internal/cliagent"
)

// newAgents makes the pool of the agents that roles run as programs of their own.
func (p *program) newAgents() *cliagent.Pool {
	env := os.Environ()
	return cliagent.New(cliagent.Options{Env: slices.DeleteFunc(slices.Clone(env), ours), Secrets: secretValues(env), Log: p.log})
}

// ours reports whether a variable of the environment is this program's alone: its
// tokens, the database, and all of its settings. An agent gets everything else, since
// it needs a home, a path and keys of its own.
func ours(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.ContainsFunc([]string{tokenPrefix, "TELEGRAM_API_", "ATTACHE_", "DATABASE_URL", "PG"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// secretValues gives the values of an environment that no log may show: agents print
// what they were given when they fail.
func secretValues(env []string) (values []string) {
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD"}, func(word string) bool { return strings.Contains(name, word) }) {
			values = append(values, value)
		}
	}
	return values
}

// files is the folder below which each place has one of its own: agents work there,
// and files are sent from there.
func (p *program) files() string { return filepath.Join(p.flags.data(), "files") }

// folder is where an agent works for a place, and no other place's.
func (p *program) folder(at attache.Place) string { return filepath.Join(p.files(), at.String()) }
