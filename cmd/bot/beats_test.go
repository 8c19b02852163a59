package main

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"attache/cmd/bot/beats"
	"attache/internal/store"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// askBeats runs `attache beats` on the evening before the clocks go forward in
// Amsterdam, and gives what it prints with its exit code.
func askBeats(t *testing.T, brain map[string]string, args ...string) (out string, code int) {
	t.Helper()
	files := map[string]string{
		"constitution/MANIFEST.yaml":    "name: Shop\ntimezone: Europe/Amsterdam\n",
		"constitution/access.yaml":      "bots:\n  nova:\n    chats:\n      \"tg:chat:-1001\": { role: desk, people: everyone }\n",
		"features/shop/desk.agent.md":   "---\ncontexts: []\n---\nYou are the desk.\n",
		"features/shop/late.context.md": "---\nwhen: [run]\n---\nWhat late means.\n",
	}
	for name, text := range brain {
		files[name] = text
	}
	var b strings.Builder
	clock := &walkClock{now: time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC)}
	code = runBy(t.Context(), clock, append([]string{"beats", "--brain", brainFiles(t, files)}, args...), stdio{strings.NewReader(""), &b, &b})
	return b.String(), code
}

func beatFiles() map[string]string {
	return map[string]string{
		"features/shop/night.heartbeat.md":       "---\ndescription: Looks after the night\ncron: 30 2 * * *\nagent: desk\nplace: { chat: -1001, thread: 4 }\n---\nGo.\n",
		"features/shop/deep/weekly.heartbeat.md": "---\ncron: 0 9-17 * * fri-sun\ntimezone: America/New_York\nhours: 09:00-11:00\ncatchUp: all\nagent: desk\nreach: []\n---\n",
		"features/shop/asleep.heartbeat.md":      "---\ncron: 0 9 * * *\nagent: desk\nenabled: false\n---\nGo.\n",
		"features/shop/strange.heartbeat.md":     "---\ncron: 0 9 * * *\nagent: desk\nplace: { chat: -7 }\n---\nGo.\n",
		"features/shop/wrong.heartbeat.md":       "---\ncron: 0 25 * * *\nagent: desk\n---\nGo.\n",
	}
}

// row M1
func TestBeatsCommand(t *testing.T) {
	got, code := askBeats(t, beatFiles())
	want := `asleep  features/shop/asleep.heartbeat.md
  off      enabled is false
  when     0 9 * * * in Europe/Amsterdam; missed slots: once
  role     desk
  posts in no place; only its tools post
  reaches  late
  would be 2026-03-29T09:00:00+02:00  2026-03-29T07:00:00Z
           2026-03-30T09:00:00+02:00  2026-03-30T07:00:00Z
           2026-03-31T09:00:00+02:00  2026-03-31T07:00:00Z
night  features/shop/night.heartbeat.md
  for      Looks after the night
  when     30 2 * * * in Europe/Amsterdam; missed slots: once
  role     desk
  posts in nova/-1001/4
  reaches  late
  next     2026-03-29T03:00:00+02:00  2026-03-29T01:00:00Z
           2026-03-30T02:30:00+02:00  2026-03-30T00:30:00Z
           2026-03-31T02:30:00+02:00  2026-03-31T00:30:00Z
strange  features/shop/strange.heartbeat.md
  off      no rule holds where the beat posts: constitution/access.yaml has no rule for tg:chat:-7 below bots.nova.chats, and no default that holds there
  when     0 9 * * * in Europe/Amsterdam; missed slots: once
  role     desk
  posts in nova/-7/0
  reaches  late
  would be 2026-03-29T09:00:00+02:00  2026-03-29T07:00:00Z
           2026-03-30T09:00:00+02:00  2026-03-30T07:00:00Z
           2026-03-31T09:00:00+02:00  2026-03-31T07:00:00Z
weekly  features/shop/deep/weekly.heartbeat.md
  when     0 9-17 * * fri-sun in America/New_York, only 09:00-11:00; missed slots: all
  role     desk, but its body is blank: no model is called
  posts in no place; only its tools post
  reaches  no context
  next     2026-03-29T09:00:00-04:00  2026-03-29T13:00:00Z
           2026-03-29T10:00:00-04:00  2026-03-29T14:00:00Z
           2026-04-03T09:00:00-04:00  2026-04-03T13:00:00Z
features/shop/strange.heartbeat.md:4:10: no rule holds where the beat posts: constitution/access.yaml has no rule for tg:chat:-7 below bots.nova.chats, and no default that holds there; add one to constitution/access.yaml, or name another chat
features/shop/wrong.heartbeat.md:2:1: "25" is no hour of a cron; write 0 to 23, *, a list as in 1,4, a range as in 1-4, or a step as in */2
`
	if diff := cmp.Diff(want, got); diff != "" || code != 0 {
		t.Errorf("exit %d, -want +got:\n%s", code, diff)
	}
}

func TestBeatsOfOneAsJSON(t *testing.T) {
	got, code := askBeats(t, beatFiles(), "--json", "night", "--count", "1")
	var records []beats.Record
	if err := json.Unmarshal([]byte(got), &records); err != nil || code != 0 || len(records) != 1 {
		t.Fatalf("exit %d, %v: %s", code, err, got)
	}
	r := records[0]
	if !r.Runs || !r.Enabled || r.Place == nil || r.Place.String() != "nova/-1001/4" || len(r.Reach) != 1 || len(r.Next) != 1 ||
		r.Next[0] != (beats.Slot{Local: "2026-03-29T03:00:00+02:00", UTC: "2026-03-29T01:00:00Z"}) || r.Timezone != "Europe/Amsterdam" || r.Hours != "" || r.Agent != "desk" {
		t.Errorf("%s", got)
	}
	if got, code = askBeats(t, nil, "--json"); got != "[]\n" || code != 0 {
		t.Errorf("exit %d of a brain without beats: %s", code, got)
	}
}

func TestBeatsSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"nihgt"}, 1, `attache: there is no beat "nihgt"; did you mean night?`},
		{[]string{"wrong"}, 1, `attache: the beat wrong does not load: features/shop/wrong.heartbeat.md:2:1: "25" is no hour of a cron`},
		{[]string{"--count", "0"}, 2, "attache: --count takes 1 to 100"},
	} {
		if got, code := askBeats(t, beatFiles(), c.args...); code != c.code || !strings.HasPrefix(got, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, code, got)
		}
	}
	if got, code := askBeats(t, nil); code != 0 || !strings.Contains(got, "the brain has no beats") {
		t.Errorf("exit %d: %s", code, got)
	}
	if got, code := askBeats(t, map[string]string{"constitution/MANIFEST.yaml": "timezone: Mars\n"}); code != 2 || !strings.Contains(got, "MANIFEST.yaml of the brain") {
		t.Errorf("exit %d: %s", code, got)
	}
}

// Two processes on one database, each with a clock of its own: each slot of a beat is
// posted once between them, and once more by none of those that start after them.
//
// row N3 (no beat fired twice)
// row M1 (one fire per tick across replicas and restarts)
func TestReplicasFireABeatOnce(t *testing.T) {
	s := newStage(t)
	t.Setenv("TELEGRAM_BOT_TOKEN_NOVA", s.bot.Token)
	group := s.sim.AddChat(telegramsim.Chat{Kind: "supergroup", Title: "Desk", ID: -1001}, s.ann, s.bot)
	dir := brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml":      "name: Shop\ntelegram: { pace: off }\nmodels: { default: { model: echo } }\n",
		"constitution/access.yaml":        "bots:\n  nova:\n    chats:\n      \"tg:chat:-1001\": { role: desk, people: everyone }\n",
		"features/shop/desk.agent.md":     "---\ncontexts: []\n---\nYou are the desk.\n",
		"features/shop/tick.heartbeat.md": "---\ncron: '* * * * *'\ncatchUp: all\nagent: desk\nplace: { chat: -1001 }\n---\nTick.\n",
	})
	var logs logBuffer
	start := func(at time.Time) (*walkClock, func()) {
		clock := &walkClock{now: at}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan int, 1)
		go func() {
			done <- runBy(ctx, clock, []string{"run", "--listen", "off", "--database-url", s.dsn, "--telegram-api-url", s.url, "--brain", dir}, stdio{strings.NewReader(""), &logs, &logs})
		}()
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(logs.String())
			}
		})
		storetest.Until(t, "the beats are looked after", func() bool { asleep, _ := clock.asleep(); return asleep })
		return clock, func() {
			cancel()
			if code := <-done; code != 0 {
				t.Errorf("exit %d\n%s", code, logs.String())
			}
		}
	}
	pass := func(c *walkClock, end time.Time) {
		for {
			storetest.Until(t, "the beats are looked after", func() bool { asleep, _ := c.asleep(); return asleep })
			if c.hop(end) {
				return
			}
		}
	}
	nine := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	one, stopOne := start(nine.Add(-10 * time.Second))
	two, stopTwo := start(nine.Add(-10 * time.Second))
	var together sync.WaitGroup
	for _, c := range []*walkClock{one, two} {
		together.Go(func() { pass(c, nine.Add(4*time.Minute+30*time.Second)) })
	}
	together.Wait()
	if got := s.await(group, 5); len(got) != 5 {
		t.Errorf("five minutes have %q", got)
	}
	stopOne()
	pass(two, nine.Add(5*time.Minute+30*time.Second))
	stopTwo()
	_, stopThree := start(nine.Add(7*time.Minute + 30*time.Second)) // two slots were missed
	s.await(group, 8)
	stopThree()
	db, err := store.Open(t.Context(), s.dsn, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var fires, turns, posts int
	err = db.Pool().QueryRow(t.Context(), `select (select count(*) from attache.fires where state = 'fired'),
		(select count(distinct turn) from attache.fires), (select count(*) from attache.posts where state = 'sent')`).Scan(&fires, &turns, &posts)
	if err != nil || fires != 8 || turns != 8 || posts != 8 || len(group.Posts()) != 8 {
		t.Errorf("eight minutes have %d fires, %d turns, %d posts and %d messages: %v", fires, turns, posts, len(group.Posts()), err)
	}
}
