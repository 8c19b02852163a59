package program

import (
	"context"
	"errors"
	"time"

	"attache"
	"attache/gateway/carried"
	"attache/internal/builtin"
	"attache/internal/web/pages"
)

// ledger is where agent_context reads.
func (p *Program) ledger() builtin.Ledger {
	return builtin.Ledger{Windows: pages.Windows(), Default: pages.DefaultWindow, Pinned: p.pinned,
		Uses: func(ctx context.Context, window string, at attache.Place, role attache.RoleID) (carried.Window, error) {
			edges, _ := p.edgesOf(window)
			return p.lookback.Uses(ctx, edges, at, role)
		}}
}

// remember looks back over each window once, so that the first look of a person at a
// month of turns is as quick as the next. What cannot be read now is read then.
func (p *Program) remember(ctx context.Context) {
	for _, window := range pages.Windows() {
		edges, ok := p.edgesOf(window)
		if !ok {
			continue
		}
		_, contextsErr := p.lookback.Uses(ctx, edges, attache.Place{}, "")
		_, callsErr := p.lookback.Calls(ctx, edges)
		if err := errors.Join(contextsErr, callsErr); err != nil && ctx.Err() == nil {
			p.log.Debug("what turns carried is not remembered yet", "why", window, "err", err)
		}
	}
}

// pinned reports whether a place is held to a key, or to none.
func (p *Program) pinned(ctx context.Context, at attache.Place) (bool, error) {
	pin := p.pin(ctx, p.brain.Current(), at)
	if pin.Unread {
		return false, errors.New("what the place is bound to cannot be read")
	}
	return len(pin.Bound) > 0, nil
}

// edgesOf gives the edges of a window in the zone of the brain.
func (p *Program) edgesOf(window string) ([]time.Time, bool) {
	return pages.Edges(window, p.now().In(p.zone()))
}

// zone is the zone of the brain, as it is now.
func (p *Program) zone() *time.Location { return p.brain.Current().Frame.Manifest.Zone.Location }
