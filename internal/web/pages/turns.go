package pages

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"attache"
	"attache/gateway/carried"
	"attache/gateway/ledger"
	"attache/internal/web"
)

// Turn is a turn as a list shows it.
type Turn struct {
	ledger.Line
	Role     attache.RoleID   `json:"role,omitempty"`
	Contexts []carried.Record `json:"contexts"`
}

// Attached gives what the turn attached, "client@acme" and so on.
func (t Turn) Attached() (names []string) {
	for _, c := range t.Contexts {
		if c.Status == "attached" {
			names = append(names, attache.ReachEntry{Context: c.Context, Key: c.Entity}.String())
		}
	}
	return names
}

// Left counts what was cut or refused.
func (t Turn) Left() int { return len(t.Contexts) - len(t.Attached()) }

// Told is everything about one turn.
type Told struct {
	Sheet  web.Turn
	Record ledger.Record
	Title  string // of its chat; may be empty
	JSON   any    // of the twin
}

// statuses and kinds are what the list can be held to (interface § 1).
func statuses() []string {
	return []string{"answered", "running", "silent", "failed", "stopped", "refused"}
}

func kinds() []string { return []string{"chat", "heartbeat", "hook", "scenario", "step", "gate"} }

// most is how many turns one page of the list holds.
const most = 50

// turnsData is the list as its template shows it.
type turnsData struct {
	Query    ledger.Query
	Chat     string // as it was written
	Statuses []string
	Kinds    []string
	Turns    []Turn
	Newer    string // address of the page with newer turns, "" for none
	Older    string
}

// Narrowed reports whether the list is held to something.
func (d turnsData) Narrowed() bool {
	return d.Query.Chat != 0 || d.Query.Status != "" || d.Query.Kind != "" || d.Query.Bot != "" || d.Query.Thread != nil
}

func (p *Pages) turns(r *http.Request) (view, error) {
	q, err := query(r.URL.Query())
	if err != nil {
		return view{}, err
	}
	turns, more, err := p.o.Sources.Turns(r.Context(), q)
	if err != nil {
		return view{}, err
	}
	d := turnsData{Query: q, Chat: r.URL.Query().Get("chat"), Statuses: statuses(), Kinds: kinds(), Turns: turns}
	older, newer := more || q.After > 0, q.Before > 0 || q.After > 0 && more
	if n := len(turns); n > 0 {
		if older {
			d.Older = paged(r.URL.Query(), "before", turns[n-1].ID)
		}
		if newer {
			d.Newer = paged(r.URL.Query(), "after", turns[0].ID)
		}
	} else if q.After > 0 || q.Before > 0 {
		d.Newer = paged(r.URL.Query(), "", 0)
	}
	return view{Template: "turns", Title: "Turns", Here: "/turns", Data: d, JSON: struct {
		Turns []Turn `json:"turns"`
		More  bool   `json:"more"`
	}{append([]Turn{}, turns...), more}}, nil
}

// query reads what a list is held to. A word that is none of the right ones is said
// to be wrong: an empty list would look like an answer.
func query(v url.Values) (q ledger.Query, err error) {
	q = ledger.Query{Status: v.Get("status"), Kind: v.Get("kind"), Limit: most}
	if q.Status != "" && !slices.Contains(statuses(), q.Status) {
		return q, wrong(fmt.Sprintf("%q is no status of a turn.", q.Status))
	}
	if q.Kind != "" && !slices.Contains(kinds(), q.Kind) {
		return q, wrong(fmt.Sprintf("%q is no kind of turn.", q.Kind))
	}
	if bot := v.Get("bot"); bot != "" {
		if q.Bot, err = attache.ParseBot(bot); err != nil {
			return q, wrong(err.Error() + ".")
		}
	}
	if chat := v.Get("chat"); chat != "" {
		if q.Chat, err = attache.ParseChat(chat); err != nil {
			return q, wrong(err.Error() + ".")
		}
	}
	if thread := v.Get("thread"); thread != "" {
		n, err := strconv.ParseInt(thread, 10, 64)
		if err != nil {
			return q, wrong(fmt.Sprintf("%q is no topic's number.", thread))
		}
		id := attache.ThreadID(n)
		q.Thread = &id
	}
	for name, into := range map[string]*int64{"before": &q.Before, "after": &q.After} {
		if s := v.Get(name); s != "" {
			if *into, err = strconv.ParseInt(s, 10, 64); err != nil || *into < 0 {
				return q, wrong(fmt.Sprintf("%q is no turn's number.", s))
			}
		}
	}
	if limit := v.Get("limit"); limit != "" {
		if q.Limit, err = strconv.Atoi(limit); err != nil || q.Limit < 1 || q.Limit > 1000 {
			return q, wrong("limit is a number from 1 to 1000.")
		}
	}
	return q, nil
}

// paged gives the address of another page of the same list.
func paged(v url.Values, name string, id int64) string {
	q := url.Values{}
	for k, values := range v {
		if k != "before" && k != "after" && values[0] != "" {
			q[k] = values
		}
	}
	if name != "" {
		q.Set(name, strconv.FormatInt(id, 10))
	}
	if len(q) == 0 {
		return "/turns"
	}
	return "/turns?" + q.Encode()
}

func (p *Pages) turn(r *http.Request) (view, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return view{}, nowhere(fmt.Sprintf("%q is no turn's number.", r.PathValue("id")))
	}
	t, ok, err := p.o.Sources.Turn(r.Context(), id)
	if err != nil {
		return view{}, err
	}
	if !ok {
		return view{}, nowhere(fmt.Sprintf("There is no turn %d: it never was, or it was forgotten (retention.turns).", id))
	}
	return view{Template: "turn", Title: fmt.Sprintf("Turn %d", id), Here: "/turns", Data: t, JSON: t.JSON}, nil
}
