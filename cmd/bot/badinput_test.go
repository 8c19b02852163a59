package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"attache"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// brainWith is a brain that echoes under the given access.yaml, without pace.
func brainWith(t testing.TB, access string) string {
	return brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml":  "telegram: { pace: off }\nmodels: { default: { model: echo } }\n",
		"constitution/access.yaml":    access,
		"features/echo/FEATURE.md":    "---\ndescription: Says again what was said.\n---\n",
		"features/echo/echo.agent.md": "---\ndescription: Says again what was said.\n---\n",
	})
}

// everywhere answers everybody in every place.
func everywhere(merge string) string {
	return "bots:\n  nova:\n    merge: " + merge + "\n    dm: { role: echo, people: everyone }\n    default: { role: echo, people: everyone, engage: all }\n"
}

// soon bounds a wait that should be short.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until looks at a fact that nobody signals, such as a line of a log, until it holds.
func until(t testing.TB, log *logBuffer, what string, fact func() bool) {
	t.Helper()
	for ctx := soon(t); !fact(); {
		if pause(ctx) != nil {
			t.Fatalf("it never came that %s\n%s", what, log)
		}
	}
}

// has reports whether the log has a word.
func (l *logBuffer) has(word string) bool { return strings.Contains(l.String(), word) }

// loud gives the log's warnings and errors.
func (l *logBuffer) loud() (lines []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// connect gives a connection to a test's database.
func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(soon(t), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// count runs a query for one number.
func count(t testing.TB, conn *pgx.Conn, sql string, args ...any) (n int) {
	t.Helper()
	if err := conn.QueryRow(soon(t), sql, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// refuser stands before the simulator and, while it is told so, says as Telegram
// does that the token is unknown.
func (s *stage) refuser() *atomic.Bool {
	var refuse atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"ok":false,"error_code":401,"description":"Unauthorized"}`)
			return
		}
		s.sim.ServeHTTP(w, r)
	}))
	s.t.Cleanup(front.Close)
	s.url = front.URL
	return &refuse
}

// A token that Telegram does not know is one line that names the bot and the
// variable; when it is known, everything goes on without a restart, and so does an
// answer that was on its way when the token went bad.
func TestAWrongTokenIsSaidOnceAndHeals(t *testing.T) {
	s := newStage(t)
	refuse := s.refuser()
	refuse.Store(true)
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "before")
	s.start()
	until(t, s.log, "the token is called unknown", func() bool { return s.log.has("does not know the token") })
	refuse.Store(false)
	s.await(dm, 1)
	loud := s.log.loud()
	if len(loud) != 1 || !strings.Contains(loud[0], "bot=nova") || !strings.Contains(loud[0], "TELEGRAM_BOT_TOKEN_NOVA") {
		t.Errorf("the log says of a wrong token:\n%s", strings.Join(loud, "\n"))
	}
	until(t, s.log, "polling works again", func() bool { return s.log.has("polling works again") })

	polls := func() int { return len(s.sim.Calls(telegramsim.Filter{Method: "getUpdates"})) }
	open := polls()
	dm.Say(s.ann, "the last one that is fetched")
	if err := s.sim.Wait(soon(t), func() bool { return polls() > open }); err != nil {
		t.Fatal(err)
	}
	refuse.Store(true)
	until(t, s.log, "a post waits", func() bool { return s.log.has("a post waits") || len(dm.Posts()) > 1 })
	dm.Say(s.ann, "meanwhile")
	refuse.Store(false)
	if got := s.await(dm, 3); !slices.Equal(got, []string{"before", "the last one that is fetched", "meanwhile"}) {
		t.Errorf("answers %q", got)
	}
}

// A second poller is one line that says what to do; the bot goes on when it is
// gone, and has lost nothing.
func TestASecondPollerIsSaidOnce(t *testing.T) {
	s := newStage(t)
	s.start()
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "one")
	s.await(dm, 1)
	ctx, gone := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			r, _ := http.NewRequestWithContext(ctx, "GET", s.url+"/bot"+s.bot.Token+"/getUpdates?timeout=1", nil)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				resp.Body.Close()
			}
		}
	}()
	until(t, s.log, "the other poller is named", func() bool { return s.log.has("another instance polls") })
	dm.Say(s.ann, "two")
	conflicts := func() (n int) {
		for _, c := range s.sim.Calls(telegramsim.Filter{Method: "getUpdates"}) {
			if strings.Contains(c.Error, "terminated by other") {
				n++
			}
		}
		return n
	}
	if err := s.sim.Wait(soon(t), func() bool { return conflicts() > 4 }); err != nil {
		t.Fatal(err)
	}
	gone()
	<-ended
	dm.Say(s.ann, "three")
	until(t, s.log, "all was answered", func() bool {
		all := ""
		for _, p := range dm.Posts() {
			all += p.Words() + " "
		}
		return strings.Join(strings.Fields(all), " ") == "one two three"
	})
	if loud := s.log.loud(); len(loud) != 1 || !strings.Contains(loud[0], "bot=nova") {
		t.Errorf("the log says of a second poller:\n%s", strings.Join(loud, "\n"))
	}
}

// outage says words in three places while the database is not what it should be,
// and demands that each is answered once, in order, and that the log has one line
// for the beginning and one for the end.
func outage(t *testing.T, s *stage, away, back func()) {
	s.start("--brain", brainWith(t, everywhere("30ms")))
	c := newCrowd(s)
	chats := c.chats
	for range 8 {
		c.say()
	}
	c.answered()
	s.sim.Break(telegramsim.Fault{Method: "sendMessage", Chat: chats[0].ID, Kind: telegramsim.Slow, Delay: 700 * time.Millisecond})
	chats[0].Say(s.ann, "w1000x") // its call is on its way when the database goes
	c.said[chats[0]] = append(c.said[chats[0]], "w1000x")
	calls := telegramsim.Filter{Method: "sendMessage", Chat: chats[0].ID}
	if err := s.sim.Wait(soon(t), func() bool { all := s.sim.Calls(calls); return len(all) > 0 && !all[len(all)-1].Done }); err != nil {
		t.Fatal(err)
	}
	away()
	for end := time.Now().Add(2500 * time.Millisecond); time.Now().Before(end); {
		c.say()
		_ = pause(context.Background())
		_ = pause(context.Background())
	}
	back()
	for range 8 {
		c.say()
	}
	c.answered()
	c.judge()
	until(t, s.log, "the database is called back", func() bool { return s.log.has("the database is back; ") })
	if loud := s.log.loud(); len(loud) != 1 || !strings.Contains(loud[0], "database") {
		t.Errorf("the log says of the outage:\n%s", strings.Join(loud, "\n"))
	}
	if n := strings.Count(s.log.String(), "the database is back; "); n != 1 {
		t.Errorf("the database is called back %d times", n)
	}
	s.confirmedWhatWasStored()
}

// answered waits until every word was answered.
func (c *crowd) answered() {
	c.s.t.Helper()
	err := c.s.sim.Wait(soon(c.s.t), func() bool { return c.missing() == "" })
	if err != nil {
		c.s.t.Fatalf("these were never answered: %s\n%s", c.missing(), c.s.log)
	}
}

func (c *crowd) missing() string {
	var none []string
	for chat, said := range c.said {
		_, times := heard(chat)
		for _, w := range said {
			if times[w] == 0 {
				none = append(none, w)
			}
		}
	}
	return strings.Join(none, " ")
}

// confirmedWhatWasStored demands that every update below an offset that was asked
// for had been stored by then.
func (s *stage) confirmedWhatWasStored() {
	s.t.Helper()
	conn := connect(s.t, s.dsn)
	for _, call := range s.sim.Calls(telegramsim.Filter{Method: "getUpdates"}) {
		var offset int
		if raw, ok := call.Params["offset"]; ok {
			fmt.Sscan(string(raw), &offset)
		}
		if offset == 0 {
			continue
		}
		want := offset - 100000001 // the simulator's first update is 100000001
		if got := count(s.t, conn, `select count(*) from attache.updates where update_id < $1 and at <= $2`, offset, call.At); got != want {
			s.t.Errorf("offset %d confirmed %d updates, and %d were stored", offset, want, got)
		}
	}
}

// A Postgres that is killed and started again: nothing is lost, doubled or out of
// order, and nobody restarts the bot.
func TestADatabaseThatGoesAndComesBack(t *testing.T) {
	s := newStage(t)
	d := storetest.NewDurable(t)
	s.dsn = d.DSN()
	outage(t, s, d.Kill, d.Start)
}

// A Postgres that answers and takes no writes, as one with a full disk or a new
// standby does.
func TestADatabaseThatTakesNoWrites(t *testing.T) {
	s := newStage(t)
	d := storetest.NewDurable(t)
	s.dsn = d.DSN()
	turn := func(on string) func() {
		return func() {
			conn := connect(t, d.DSN())
			for _, sql := range []string{`alter system set default_transaction_read_only = ` + on, `select pg_reload_conf()`} {
				if _, err := conn.Exec(soon(t), sql); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	outage(t, s, turn("on"), turn("off"))
}

// room is one of many places: a chat and a thread of it.
type room struct {
	chat   *telegramsim.Chat
	thread attache.ThreadID
	from   int64
	kind   string // private or supergroup
	said   []string
}

// rooms are fifty places: private chats, groups and topics.
func rooms(s *stage) (all []*room) {
	for i := range int64(20) {
		p := s.sim.AddPerson(telegramsim.User{ID: 100 + i})
		all = append(all, &room{chat: s.sim.DM(p, s.bot), from: p.ID, kind: "private"})
	}
	for range 10 {
		all = append(all, &room{chat: s.sim.AddChat(telegramsim.Chat{Kind: "supergroup"}, s.ann, s.bot), from: 5, kind: "supergroup"})
	}
	for range 4 {
		forum := s.sim.AddChat(telegramsim.Chat{Kind: "forum"}, s.ann, s.bot)
		for range 5 {
			all = append(all, &room{chat: forum, thread: forum.CreateTopic(s.ann, "T"), from: 5, kind: "supergroup"})
		}
	}
	return all
}

// message is a message in the room as Telegram writes it, with more fields.
func (r *room) message(id int, text, more string) string {
	thread := ""
	if r.thread != 0 {
		thread = fmt.Sprintf(`"message_thread_id":%d,"is_topic_message":true,`, r.thread)
	}
	return fmt.Sprintf(`{"message_id":%d,%s"date":%d,"chat":{"id":%d,"type":%q,"title":"T"},"from":{"id":%d,"is_bot":false,"first_name":"P"},"text":"%s"%s}`,
		id, thread, time.Now().Unix(), r.chat.ID, r.kind, r.from, text, more)
}

// odd are things that may stand in a good message, which must be answered
// nevertheless: fields of the future, nesting, numbers and ranges beyond reason.
func odd(i int) string {
	all := []string{
		``, ``, ``, ``,
		`,"entities":[{"type":"mention","offset":-5,"length":99999},{"type":"text_link","offset":2147483647,"length":1}]`,
		`,"future_field":{"a":[1,{"b":null}]}`,
		`,"future_field":` + strings.Repeat("[", 200) + strings.Repeat("]", 200),
		`,"future_number":1e999999,"other":-` + strings.Repeat("9", 300),
		`,"future_text":"\u0000\ud800 \udc00"`,
		`,"reply_to_message":{"message_id":1,"chat":{"id":-1,"type":"group"},"date":1}`,
	}
	return all[i%len(all)]
}

// broken are updates that cannot be read, though their update_id can.
func broken(r *room, i int) string {
	all := []string{
		`{"message":{"message_id":"x","chat":{"id":5,"type":"private"},"text":"b%dx"}}`,
		`{"message":{"message_id":1.5,"chat":{"id":5,"type":"private"},"text":"b%dx"}}`,
		`{"message":{"message_id":1,"text":"b%dx"}}`,
		`{"message":{"message_id":1,"chat":[5],"text":"b%dx"}}`,
		`{"message":{"message_id":1,"chat":{"id":123456789012345678901234567890,"type":"private"},"text":"b%dx"}}`,
		`{"message":{"message_id":1,"chat":{"id":5},"text":{"b%dx":1}}}`,
		`{"message":["b%dx"]}`,
		`{"callback_query":{"data":"b%dx"}}`,
		`{"edited_message":{"message_id":7,"text":"b%dx"}}`,
		`{"message":{"message_id":1,"chat":{"id":5,"type":"private"},"text":"b%dx","deep":` + strings.Repeat("[", 900) + strings.Repeat("]", 900) + `}}`,
	}
	return fmt.Sprintf(all[i/10%len(all)], i)
}

// foreign are updates that are no business of ours: kinds that nobody knows, and
// messages of Business accounts and guests.
func foreign(r *room, i int) string {
	message := r.message(5000000+i, fmt.Sprintf("b%dx", i), `,"business_connection_id":"c1"`)
	all := []string{
		`{"brand_new_kind":{"text":"b%dx"}}`, `{"poll":{"id":"b%dx"}}`, `{"business_connection":{"id":"b%dx"}}`, `{}`,
		`{"business_message":` + message + `}`, `{"message":` + message + `}`,
		`{"message":` + r.message(0, fmt.Sprintf("b%dx", i), ``) + `}`,
		`{"message":{"message_id":4,"date":1,"chat":{"id":-7,"type":"supergroup"},"new_chat_photo":[]}}`,
	}
	raw := all[i/10%len(all)]
	if strings.Contains(raw, "%d") {
		raw = fmt.Sprintf(raw, i)
	}
	return raw
}

// Ten thousand updates in fifty places, shuffled over the places, told twice,
// broken, cut, hostile: each good one is answered once and in the order of its
// place, and the broken ones are counted.
//
// rows L1, L2
func TestTenThousandUpdates(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	s := newStage(t)
	s.start("--brain", brainWith(t, everywhere("0s")), "--log", "text,error")
	all := rooms(s)
	word := regexp.MustCompile(`[wb]\d+x`)
	var goods []string
	var spoiled, sent, twice int
	inject := func(raw string) {
		s.sim.Inject(s.bot, raw)
		sent++
	}
	for wave := range 10 {
		for i := range 960 {
			n := wave*960 + i
			if i == 480 {
				inject([]string{`[]`, `17`, `"text"`, `null`, `{"update_id":"x","message":{}}`}[wave%5]) // a later id confirms it
				inject(`{"update_id":100000,"message":{"text":"cut of`)                                  // spoils the whole answer that carries it
			}
			r := all[rand.IntN(len(all))]
			switch n % 10 {
			default:
				w := fmt.Sprintf("w%dx", n)
				raw := `{"message":` + r.message(1000000+n, w, odd(n/10)) + `}`
				inject(raw)
				r.said, goods = append(r.said, w), append(goods, raw)
			case 7:
				if len(goods) == 0 {
					break
				}
				inject(goods[rand.IntN(len(goods))]) // the same message under a new update_id
				twice++
			case 8:
				inject(broken(r, n))
				spoiled++
			case 9:
				inject(foreign(r, n))
			}
		}
		if err := s.sim.Wait(soon(t), func() bool { return s.sim.Pending(s.bot) == 0 }); err != nil {
			t.Fatalf("wave %d was not fetched: %d wait\n%s", wave, s.sim.Pending(s.bot), s.log)
		}
		for range 40 {
			if s.sim.Redeliver(s.bot, 100000001+int64(rand.IntN(sent))) == nil {
				twice++
			}
		}
	}
	want := 0
	for _, r := range all {
		want += len(r.said)
	}
	conn := connect(t, s.dsn)
	until(t, s.log, "all was handled", func() bool {
		return count(t, conn, `select count(*) from attache.updates where state = 'new'`)+count(t, conn, `select count(*) from attache.turns where ended is null`) == 0
	})
	for _, r := range all {
		var got []string
		for _, p := range r.chat.Posts(r.thread) {
			got = append(got, word.FindAllString(p.Words(), -1)...)
		}
		if !slices.Equal(got, r.said) {
			t.Errorf("chat %d, thread %d: said %d words, answered %d:\n%q\n%q", r.chat.ID, r.thread, len(r.said), len(got), r.said, got)
		}
	}
	if n := count(t, conn, `select count(*) from attache.updates where state = 'broken'`); n != spoiled {
		t.Errorf("%d updates count as broken, %d were", n, spoiled)
	}
	t.Logf("%d updates, %d of them good, %d told again, %d broken", sent+400, want, twice, spoiled)
	var out bytes.Buffer
	if code := run(context.Background(), []string{"doctor", "--database-url", s.dsn, "--telegram-api-url", s.url, "--brain", brainWith(t, everywhere("0s"))}, stdio{nil, &out, &out}); code != 0 {
		t.Errorf("doctor ends with %d", code)
	}
	if !strings.Contains(out.String(), fmt.Sprintf("(%d in all)", spoiled)) {
		t.Errorf("doctor does not count the %d broken updates:\n%s", spoiled, out.String())
	}
}
