package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"attache"
	"attache/gateway/ledger"
	"attache/heartbeat"
	"attache/internal/brain"
	"attache/internal/store"
)

// deliveries looks for posts whose fate nobody knows or that Telegram refused, and
// for updates that could not be read (decisions § 7.5, row N8).
func deliveries(ctx context.Context, db *store.DB, since time.Time) []Finding {
	t, err := ledger.ReadTroubles(ctx, db, since)
	if err != nil {
		return unread("Deliveries", "the records of posts", err)
	}
	var found []Finding
	for _, p := range t.Posts {
		f := Finding{Level: Warn, Check: "Deliveries"}.in(p.Place)
		where := fmt.Sprintf("in %s at %s (%s)", p.Place, stamp(p.At), short(p.Text))
		if p.State == "unknown" {
			f.What = "nobody knows whether a post arrived " + where + ": " + p.Why
			f.Do = "look into the chat; it is not sent again by itself"
		} else {
			f.What = "Telegram refused a post " + where + ": " + p.Why
			f.Do = "mend what it says; the text stands in `attache turns`"
		}
		found = append(found, f)
	}
	if more := t.AllPosts - len(t.Posts); more > 0 {
		found = append(found, Finding{Level: Warn, Check: "Deliveries",
			What: fmt.Sprintf("%d older posts are of unknown fate or were refused too (%d in all)", more, t.AllPosts), Do: "look for the same cause"})
	}
	return append(found, ofUpdates(t)...)
}

// ofUpdates tells of updates that were passed by, and of those of Business chats.
func ofUpdates(t ledger.Troubles) []Finding {
	var found []Finding
	for _, u := range t.Broken {
		found = append(found, Finding{Level: Warn, Check: "Updates",
			What: fmt.Sprintf("update %d of bot %s at %s could not be read and was passed by: %s", u.ID, u.Bot, stamp(u.At), u.Why),
			Do:   "please report it; the raw update is kept for a week"})
	}
	if more := t.AllUpdates - len(t.Broken); more > 0 {
		found = append(found, Finding{Level: Warn, Check: "Updates",
			What: fmt.Sprintf("%d older updates could not be read too (%d in all)", more, t.AllUpdates), Do: "look for the same cause"})
	}
	for _, bot := range slices.Sorted(maps.Keys(t.Business)) {
		found = append(found, Finding{Level: Note, Check: "Updates",
			What: fmt.Sprintf("%d updates of Telegram Business chats came to bot %s; they are kept and never answered", t.Business[bot], bot),
			Do:   "disconnect the bot from the Business account if that was not meant"})
	}
	return found
}

// turns looks for turns that failed or hang.
func (s Subject) turns(ctx context.Context, since time.Time) []Finding {
	failed, err := ledger.ReadFailures(ctx, s.DB, since)
	if err != nil {
		return unread("Turns", "the records of turns", err)
	}
	var out []Finding
	for _, f := range failed {
		what := fmt.Sprintf("turn %d in %s failed at %s: %s", f.Newest, f.Place, stamp(f.At), f.Why)
		if f.Turns > 1 {
			what = fmt.Sprintf("%d turns failed within a week for one reason, the newest was turn %d in %s at %s: %s", f.Turns, f.Newest, f.Place, stamp(f.At), f.Why)
		}
		finding := Finding{Level: Warn, Check: "Turns", What: what, Do: fmt.Sprintf("`attache turns %d` has its input and its calls", f.Newest)}
		if f.Turns == 1 {
			finding = finding.in(f.Place)
		}
		out = append(out, finding)
	}
	limit := time.Duration(s.Brain.Frame.Manifest.Limits.Seconds) * time.Second
	hanging, err := ledger.ReadHanging(ctx, s.DB, 2*limit+5*time.Minute)
	if err != nil {
		return append(out, unread("Turns", "the records of turns", err)...)
	}
	for _, r := range hanging {
		f := Finding{Level: Warn, Check: "Turns", Do: "if no program serves that bot now, it goes on at the next start; else look for the turn in the log"}.in(r.Place)
		if r.Status == "waiting" {
			f.What = fmt.Sprintf("a turn in %s waits since %s and nobody begins it", r.Place, stamp(r.Opened))
		} else {
			f.What = fmt.Sprintf("turn %d in %s runs since %s, which is longer than the limits let it", r.ID, r.Place, stamp(r.Started))
		}
		out = append(out, f)
	}
	return out
}

// moves looks for rules that name a group by the number that it had.
func (s Subject) moves(ctx context.Context) []Finding {
	list, err := ledger.ReadMoves(ctx, s.DB)
	if err != nil {
		return unread(chatAccess, "which groups have another number now", err)
	}
	return moved(s.Brain, list)
}

// moved finds rules of groups that became supergroups and have another number now
// (decisions § 3.8).
func moved(b *brain.Brain, moves []ledger.Move) []Finding {
	to := map[attache.ChatID]attache.ChatID{}
	for _, m := range moves {
		to[m.From] = m.To
	}
	var out []Finding
	for _, r := range b.Policy.Rulings() {
		now, gone := to[r.Chat]
		if r.Chat >= 0 || r.Thread != 0 || !gone {
			continue
		}
		f := Finding{Level: Warn, Check: chatAccess, Chat: now,
			What: fmt.Sprintf("the group %s became a supergroup and is %s now; this line names the old number", r.Chat, now),
			Do:   fmt.Sprintf("write '%s' in its place; until then its rule holds under the old number", now)}
		if b.Policy.Mentions(now) {
			f.Do = "take it out: the new number has a rule of its own, which holds"
		}
		out = append(out, f.at(r.File, r.Line, 1))
	}
	return out
}

// fires tells of beats whose last fire was refused: it could not begin, or what it
// wanted to say may not be posted (decisions § 2).
func (s Subject) fires(ctx context.Context) []Finding {
	list, err := heartbeat.Latest(ctx, s.DB.Pool())
	if err != nil {
		return unread("Heartbeats", "the records of fires", err)
	}
	return ofFires(s.Brain, list)
}

// ofFires judges the last fire of each beat that still stands in the brain.
func ofFires(b *brain.Brain, list []heartbeat.Record) []Finding {
	var out []Finding
	for _, r := range list {
		i := slices.IndexFunc(b.Beats, func(beat heartbeat.Beat) bool { return beat.Kind == r.Kind && beat.ID == r.Entity })
		if r.State != heartbeat.Refused || i < 0 {
			continue
		}
		beat := b.Beats[i]
		out = append(out, Finding{Level: Warn, Check: "Heartbeats",
			What: fmt.Sprintf("the last fire of %s, of the slot %s, was refused: %s", beat.ID, r.Slot, r.Why),
			Do:   "mend what it says; the next slot fires as usual"}.at(beat.Path, 1, 1).in(beat.Place))
	}
	return out
}

// unread says that some records were not looked at.
func unread(check, what string, err error) []Finding {
	return []Finding{{Level: Skipped, Check: check, What: what + " could not be read: " + err.Error()}}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
