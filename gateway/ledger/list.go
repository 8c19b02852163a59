package ledger

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store"
)

// Query chooses turns for a list; a field's zero value chooses all.
type Query struct {
	Bot    attache.BotID
	Chat   attache.ChatID
	Thread *attache.ThreadID // nil: every topic
	Status string
	Kind   string
	Before int64 // only turns with a smaller number: the next page
	After  int64 // only turns with a larger number: the page before
	Limit  int   // at most so many
}

// Line is a turn as a list shows it. JSON: that of a [Record], and the opening.
type Line struct {
	Record
	Title string `json:"title,omitempty"` // of the chat, as its newest message there told it
	From  string `json:"from,omitempty"`  // who wrote the first message of its input; empty for a run
	Text  string `json:"text,omitempty"`  // the input's beginning, at most 160 characters
}

// List reads turns, newest first, and whether there are more of them beyond the
// last in the direction of the query. Turns that still wait are left out.
func List(ctx context.Context, db *store.DB, q Query) (lines []Line, more bool, err error) {
	where, args := q.where()
	order := "desc"
	if q.After > 0 {
		order = "asc"
	}
	// Planned anew for each query: a plan for any status and kind would pass by the
	// small indexes of the rare ones.
	args = append([]any{pgx.QueryExecModeExec}, args...)
	rows, err := db.Pool().Query(ctx, fmt.Sprintf(`select %s from attache.turns where %s order by id %s limit %d`,
		columns, where, order, q.Limit+1), args...)
	if err != nil {
		return nil, false, fmt.Errorf("the list of turns cannot be read: %w", err)
	}
	records, err := pgx.CollectRows(rows, readRecord)
	if err != nil {
		return nil, false, fmt.Errorf("the list of turns cannot be read: %w", err)
	}
	if more = len(records) > q.Limit; more {
		records = records[:q.Limit]
	}
	if q.After > 0 {
		slices.Reverse(records)
	}
	lines, err = opened(ctx, db, records)
	return lines, more, err
}

// where makes the condition of a query and its arguments. Only what is asked for
// stands in it, so that the server sees which index answers it.
func (q Query) where() (string, []any) {
	conditions, args := []string{"state <> 'waiting'"}, []any{}
	add := func(condition string, value any) {
		args = append(args, value)
		conditions = append(conditions, fmt.Sprintf(condition, len(args)))
	}
	if q.Bot != "" {
		add("bot = $%d", q.Bot)
	}
	if q.Chat != 0 {
		add("chat = $%d", q.Chat)
	}
	if q.Thread != nil {
		add("thread = $%d", *q.Thread)
	}
	if q.Status != "" {
		add("state = $%d", q.Status)
	}
	if q.Kind != "" {
		add("kind = $%d", q.Kind)
	}
	if q.Before > 0 {
		add("id < $%d", q.Before)
	}
	if q.After > 0 {
		add("id > $%d", q.After)
	}
	return strings.Join(conditions, " and "), args
}

// opened adds to turns what began them. A chat is called as in the message itself,
// for a title changes.
func opened(ctx context.Context, db *store.DB, records []Record) ([]Line, error) {
	ids := make([]int64, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	rows, err := db.Pool().Query(ctx, `
		(select distinct on (turn) turn, coalesce(body->'chat'->>'title', ''), coalesce(body->'from'->>'name', ''), left(coalesce(body->>'text', ''), 160)
			from attache.messages where turn = any($1) and role = 'input' order by turn, seq)
		union all select id, '', '', left(task->>'input', 160) from attache.turns where id = any($1) and task is not null`, ids)
	if err != nil {
		return nil, fmt.Errorf("what began turns cannot be read: %w", err)
	}
	first := map[int64]Line{}
	var id int64
	var l Line
	_, err = pgx.ForEachRow(rows, []any{&id, &l.Title, &l.From, &l.Text}, func() error {
		first[id] = l
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("what began turns cannot be read: %w", err)
	}
	lines := make([]Line, len(records))
	for i, r := range records {
		lines[i] = first[r.ID]
		lines[i].Record = r
	}
	return lines, nil
}

// PlaceRecord is a place that has had a turn or a message, with its latest turn.
type PlaceRecord struct {
	Place attache.Place
	Title string // of its chat, as the newest message told it; may be empty
	Last  Record // the zero Record without a turn that began
}

// Places reads the places that are known by their turns, in their order, at most so
// many, and whether there are more. It goes from place to place by an index, so
// that the number of turns does not matter.
func Places(ctx context.Context, db *store.DB, limit int) (places []PlaceRecord, more bool, err error) {
	rows, err := db.Pool().Query(ctx, `
		with recursive place as (
			(select bot, chat, thread from attache.turns order by bot, chat, thread limit 1)
			union all
			select n.* from place p, lateral (select bot, chat, thread from attache.turns t
				where (t.bot, t.chat, t.thread) > (p.bot, p.chat, p.thread) order by bot, chat, thread limit 1) n)
		select p.bot, p.chat, p.thread, coalesce(m.title, ''), coalesce(l.id, 0), coalesce(l.kind, ''), coalesce(l.task->>'kind' || ':' || (l.task->>'id'), ''), coalesce(l.state, ''),
			coalesce(l.why, ''), coalesce(l.opened, 'epoch'), l.started, l.ended
		from (select * from place limit $1) p
		left join lateral (select * from attache.turns t where t.bot = p.bot and t.chat = p.chat and t.thread = p.thread and state <> 'waiting'
			order by id desc limit 1) l on true
		left join lateral (select body->'chat'->>'title' title from attache.messages m where m.bot = p.bot and m.chat = p.chat
			order by message desc limit 1) m on true
		order by p.bot, p.chat, p.thread`, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("the known places cannot be read: %w", err)
	}
	places, err = pgx.CollectRows(rows, readPlace)
	if err != nil {
		return nil, false, fmt.Errorf("the known places cannot be read: %w", err)
	}
	if more = len(places) > limit; more {
		places = places[:limit]
	}
	return places, more, nil
}

func readPlace(r pgx.CollectableRow) (PlaceRecord, error) {
	var p PlaceRecord
	var started, ended *time.Time
	l := &p.Last
	err := r.Scan(&p.Place.Bot, &p.Place.Chat, &p.Place.Thread, &p.Title, &l.ID, &l.Kind, &l.Run, &l.Status, &l.Why, &l.Opened, &started, &ended)
	if l.ID == 0 {
		p.Last = Record{}
		return p, err
	}
	l.Place, l.Started, l.Ended = p.Place, orZero(started), orZero(ended)
	return p, err
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}
