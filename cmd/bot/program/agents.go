package program

import (
	"path/filepath"

	"attache"
	"attache/internal/builtin"
	"attache/internal/cliagent"
)

// newAgents makes the pool of the agents that roles run as programs of their own.
func (p *Program) newAgents() *cliagent.Pool {
	return cliagent.New(cliagent.Options{Env: p.s.Env, Secrets: p.s.Hidden, Log: p.log})
}

// folder is where an agent works for a place that is held to what it is held to now,
// and for no other: what file_send sends stands there too. False: nobody knows what the
// place is held to.
func (p *Program) folder(at attache.Place, pin attache.Pin) (dir string, ok bool) {
	name := builtin.Folder(at, pin)
	return filepath.Join(p.s.Files, name), name != ""
}
