package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"attache/internal/telegramsim"
)

// replica starts a process of its own on the stage's database.
func (s *stage) replica(dir string, env []string, args ...string) *child {
	s.t.Helper()
	return spawn(s.t, append(env, "TELEGRAM_BOT_TOKEN_NOVA="+s.bot.Token),
		append([]string{"run", "--brain", dir, "--database-url", s.dsn, "--telegram-api-url", s.url}, args...)...)
}

// balancer is one address for several replicas, as a load balancer gives it:
// requests go round, or to the one that is named.
type balancer struct {
	url     string
	targets []string
	n       atomic.Int64
	only    atomic.Int64 // index and one, 0 for all in turn
}

func newBalancer(t *testing.T, targets ...string) *balancer {
	b := &balancer{targets: targets}
	var proxies []*httputil.ReverseProxy
	for _, target := range targets {
		p := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target})
		p.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
		proxies = append(proxies, p)
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := int(b.only.Load()) - 1
		if i < 0 {
			i = int(b.n.Add(1)) % len(proxies)
		}
		proxies[i].ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	b.url = front.URL
	return b
}

// held is a call to Telegram that is kept on its way for as long as a test wants.
type held struct {
	came chan struct{} // closed when the call is there
	now  func()        // lets it go on
}

// holdFirst stands before the simulator and holds the first call of a method.
func (s *stage) holdFirst(method string) held {
	h, release := held{came: make(chan struct{})}, make(chan struct{})
	h.now = sync.OnceFunc(func() { close(release) })
	first := sync.OnceFunc(func() {
		close(h.came)
		<-release
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-h.came: // only the first waits
		default:
			if strings.HasSuffix(r.URL.Path, "/"+method) {
				first()
			}
		}
		s.sim.ServeHTTP(w, r)
	}))
	s.t.Cleanup(func() { h.now(); front.CloseClientConnections(); front.Close() })
	s.url = front.URL
	return h
}

// One of two processes polls. When it is killed the other goes on, and what the
// dead one was about to say is said by the living one.
//
// row N3 (updates by polling)
func TestTheOtherReplicaTakesOver(t *testing.T) {
	s := newStage(t)
	dir := echoBrain(t, "0s")
	first := s.replica(dir, nil, "--listen", "off")
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "w0x")
	s.await(dm, 1)
	second := s.replica(dir, nil, "--listen", "off")
	until(t, second.log, "the second stands by", func() bool { return second.log.has("this one stands by") })
	until(t, second.log, "the second is there", func() bool { return second.log.has("the bot is there") })
	first.kill()
	began := time.Now()
	dm.Say(s.ann, "w1x")
	s.await(dm, 2)
	took := time.Since(began)
	t.Logf("the second polled and answered %s after the first was killed", took.Round(10*time.Millisecond))
	if took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, call := range s.sim.Calls(telegramsim.Filter{Method: "getUpdates"}) {
		if strings.Contains(call.Error, "Conflict") {
			t.Errorf("both polled: %s", call.Error)
		}
	}
	if order, times := heard(dm); !slices.Equal(order, []string{"w0x", "w1x"}) || times["w1x"] != 1 {
		t.Errorf("answers %q", order)
	}
}

// A turn that a killed replica was at is finished by another within 6 seconds.
//
// row N8 (another replica)
func TestARunningTurnIsTakenOver(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes ten seconds")
	}
	binary(t)
	for _, point := range []string{"turn.claimed", "turn.begun", "turn.answered"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			dir := echoBrain(t, "0s")
			doomed := s.replica(dir, []string{"ATTACHE_KILL=" + point}, "--listen", "off")
			until(t, doomed.log, "the first is there", func() bool {
				return len(s.sim.Calls(telegramsim.Filter{Method: "getUpdates"})) > 0
			})
			other := s.replica(dir, nil, "--listen", "off")
			until(t, other.log, "the second is there", func() bool { return other.log.has("stands by") && other.log.has("the bot is there") })
			dm := s.sim.DM(s.ann, s.bot)
			s.log = other.log
			said := 0
			until(t, doomed.log, "the first reached "+point, func() bool { // a turn may begin in either
				if len(dm.Posts()) == said {
					said++
					dm.Say(s.ann, fmt.Sprintf("w%dx", said))
				}
				return isEnded(doomed)
			})
			began := time.Now()
			s.await(dm, said)
			took := time.Since(began)
			t.Logf("%s: taken over %s after the kill", point, took.Round(10*time.Millisecond))
			if took > 6*time.Second+time.Second/2 {
				t.Errorf("it took %s, 6 s are allowed", took)
			}
			dm.Say(s.ann, "and on")
			s.await(dm, said+1)
			order, _ := heard(dm)
			for i, w := range order {
				if w != fmt.Sprintf("w%dx", i+1) {
					t.Errorf("answers %q", order)
				}
			}
		})
	}
}

// isEnded reports whether a process has ended.
func isEnded(c *child) bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Webhooks arrive at any of two replicas, and one is killed in the middle: each
// word is answered once and the order of each chat is kept.
//
// row N3 (updates by webhook)
func TestWebhooksAtTwoReplicas(t *testing.T) {
	s := newStage(t)
	one, two := freeAddress(t), freeAddress(t)
	front := newBalancer(t, one, two)
	dir := echoBrain(t, "0s")
	first := s.replica(dir, nil, "--listen", one, "--public-url", front.url)
	second := s.replica(dir, nil, "--listen", two, "--public-url", front.url)
	for _, c := range []*child{first, second} {
		until(t, c.log, "it is there", func() bool { return c.log.has("the bot is there") })
	}
	c := newCrowd(s)
	s.log = second.log
	for range 200 {
		c.say()
	}
	c.answered()
	c.judge()
	for range 20 {
		c.say()
	}
	first.kill()
	for range 20 {
		c.say()
	}
	db := connect(t, s.dsn)
	reported := func() string {
		var texts string
		if err := db.QueryRow(soon(t), `select coalesce(string_agg(text, ' '), '') from attache.posts where state = 'unknown'`).Scan(&texts); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	until(t, second.log, "all was answered or is reported", func() bool {
		unknown := reported()
		for w := range strings.FieldsSeq(c.missing()) {
			if !strings.Contains(unknown, w) {
				return false
			}
		}
		return true
	})
	c.judge()
	for _, c := range []*child{first, second} {
		if !c.log.has("a turn ended") {
			t.Error("one replica did no turn; the test proves nothing")
		}
	}
}

// /stop that reaches one replica ends a turn that runs in the other.
//
// row N3 (/stop)
func TestStopReachesTheOtherReplica(t *testing.T) {
	s := newStage(t)
	addresses := []string{freeAddress(t), freeAddress(t)}
	front := newBalancer(t, addresses...)
	front.only.Store(1)
	dir := brainWith(t, "bots:\n  nova:\n    merge: 0s\n    format: entities\n    dm: { role: echo, people: everyone }\n")
	var replicas []*child
	var holds []held // of each replica's calls, to see which one runs the turn
	for _, address := range addresses {
		holds = append(holds, s.holdFirst("sendMessage"))
		c := s.replica(dir, nil, "--listen", address, "--public-url", front.url)
		until(t, c.log, "it is there", func() bool { return c.log.has("the bot is there") })
		replicas = append(replicas, c)
	}
	db := connect(t, s.dsn)
	until(t, replicas[0].log, "both listen", func() bool {
		return count(t, db, `select count(*) from pg_stat_activity where datname = current_database() and query like '%listen "attache_stop"%' and pid <> pg_backend_pid()`) == 2
	})
	dm := s.sim.DM(s.ann, s.bot)
	dm.SayLong(s.ann, strings.Repeat("a long text ", 700)) // two messages, one turn, several parts
	runs, other := 0, 1
	select {
	case <-holds[0].came:
	case <-holds[1].came: // it looked for work just when the messages were stored
		runs, other = 1, 0
	case <-soon(t).Done():
		t.Fatalf("the first part was never sent\n%s", replicas[0].log)
	}
	s.log = replicas[runs].log
	holds[other].now()
	front.only.Store(int64(other) + 1)
	dm.Say(s.ann, "/stop")
	s.await(dm, 1)
	for end := time.Now().Add(time.Second / 2); time.Now().Before(end); { // what the word may take to the other replica
		_ = pause(soon(t))
	}
	holds[runs].now()
	s.await(dm, 2)
	until(t, s.log, "the turn was stopped where it ran", func() bool { return s.log.has(`why="stopped;`) })
	dm.Say(s.ann, "and on")
	got := s.await(dm, 3)
	if got[0] != "Stopped." || !strings.HasPrefix(got[1], "a long text") || got[2] != "and on" || len(dm.Posts()) != 3 {
		t.Errorf("%d posts: %.40q", len(got), got)
	}
	if n := count(t, db, `select count(*) from attache.posts where state = 'dropped'`); n == 0 {
		t.Error("no part of the stopped answer was dropped")
	}
}
