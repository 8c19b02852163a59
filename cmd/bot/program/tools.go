package program

import (
	"context"
	"sync"

	"attache"
	"attache/internal/brain"
	"attache/internal/builtin"
	"attache/internal/tools"
	"attache/internal/views"
	"attache/internal/views/sql"
)

// executor is the login of SQL tools, opened when the first of them is called: a
// brain without such tools needs neither role nor rights.
type executor struct {
	sync.Mutex
	opened *views.Executor
}

func (e *executor) close() {
	e.Lock()
	defer e.Unlock()
	if e.opened != nil {
		e.opened.Close()
	}
}

// builtTools lists the built-in tools.
func (p *Program) builtTools() []tools.Owned {
	return []tools.Owned{builtin.Tools(p.sends()), builtin.RoomTools(p.rooms()), builtin.LedgerTools(p.ledger()),
		{Owner: "internal/doctor", Tools: []attache.Tool{builtin.DoctorCheck(p.checkFor)}}}
}

// tools lists the tools that a brain brings: those of its knowledge, and the SQL tools of
// the features that are switched on.
func (p *Program) tools(b *brain.Brain) []tools.Owned {
	all := []tools.Owned{builtin.KnowledgeTools(b.Knowledge())}
	found, _ := tools.SQLTools(b.Tree, p.execute) // their mistakes are the brain's problems
	for _, t := range found {
		if f, ok := b.Frame.Feature(t.Feature); ok && f.Enabled {
			all = append(all, tools.Owned{Owner: t.File, Tools: []attache.Tool{t.Tool}})
		}
	}
	return all
}

// execute carries out the statement of a SQL tool.
func (p *Program) execute(ctx context.Context, s sql.Statement, args map[string]any, readOnly bool) (views.Outcome, error) {
	e, err := p.executor(ctx)
	if err != nil {
		return views.Outcome{}, err
	}
	manifest := p.brain.Current().Frame.Manifest
	return e.Run(ctx, s, args, readOnly, manifest.State.Rows, manifest.Zone.String())
}

// executor gives the login of SQL tools.
func (p *Program) executor(ctx context.Context) (*views.Executor, error) {
	p.sqlTools.Lock()
	defer p.sqlTools.Unlock()
	if p.sqlTools.opened != nil {
		return p.sqlTools.opened, nil
	}
	e, err := views.OpenExecutor(ctx, p.db.Pool(), views.Options{Log: p.log})
	if err != nil {
		return nil, &attache.Error{Kind: attache.KindOutside, Say: "the database does not answer, so nothing was done", Cause: err}
	}
	p.sqlTools.opened = e
	return e, nil
}
