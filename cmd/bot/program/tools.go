package program

import (
	"attache"
	"attache/internal/brain"
	"attache/internal/builtin"
	"attache/internal/tools"
)

// builtTools lists the built-in tools.
func (p *Program) builtTools() []tools.Owned {
	return []tools.Owned{builtin.Tools(p.sends()), builtin.RoomTools(p.rooms()), builtin.LedgerTools(p.ledger()),
		{Owner: "internal/doctor", Tools: []attache.Tool{builtin.DoctorCheck(p.checkFor)}}}
}

// tools lists the tools that a brain brings: those of its knowledge, and the SQL tools of
// the features that are switched on.
func (p *Program) tools(b *brain.Brain) []tools.Owned {
	all := []tools.Owned{builtin.KnowledgeTools(b.Knowledge())}
	found, _ := tools.SQLTools(b.Tree, p.state.Execute) // their mistakes are the brain's problems
	for _, t := range found {
		if f, ok := b.Frame.Feature(t.Feature); ok && f.Enabled {
			all = append(all, tools.Owned{Owner: t.File, Tools: []attache.Tool{t.Tool}})
		}
	}
	return all
}
