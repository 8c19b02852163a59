package program

import (
	"path/filepath"

	"attache"
	"attache/internal/cliagent"
)

// newAgents makes the pool of the agents that roles run as programs of their own.
func (p *Program) newAgents() *cliagent.Pool {
	return cliagent.New(cliagent.Options{Env: p.s.Env, Secrets: p.s.Hidden, Log: p.log})
}

// folder is where an agent works for a place, and no other place's.
func (p *Program) folder(at attache.Place) string { return filepath.Join(p.s.Files, at.String()) }
