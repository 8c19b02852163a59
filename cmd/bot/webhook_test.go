package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
)

// freeAddress is an address of this machine that nobody listens on.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// secretOf is what a bot agreed with Telegram for its webhook.
func (s *stage) secretOf(bot *telegramsim.User) string {
	s.t.Helper()
	calls := func() []telegramsim.Call { return s.sim.Calls(telegramsim.Filter{Bot: bot, Method: "setWebhook"}) }
	if err := s.sim.Wait(soon(s.t), func() bool { return len(calls()) > 0 }); err != nil {
		s.t.Fatalf("%s set no webhook", bot.Name)
	}
	var secret string
	if err := json.Unmarshal(calls()[0].Params["secret_token"], &secret); err != nil || secret == "" {
		s.t.Fatalf("%s has no secret: %s, %v", bot.Name, calls()[0].Params["secret_token"], err)
	}
	return secret
}

// peak gives the most memory that a process ever had, in MB.
func (c *child) peak(t testing.TB) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(c.cmd.Process.Pid), "status"))
	if err != nil {
		t.Skip("this system has no /proc")
	}
	found := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("no VmHWM")
	}
	kb, _ := strconv.Atoi(found[1])
	return kb / 1024
}

// flood posts a body of many megabytes, announced or in chunks, for as long as it
// is taken, and gives the status of the answer.
func flood(t testing.TB, address, secret string, chunked bool) int {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const size = 200 << 20
	length := "Content-Length: " + strconv.Itoa(size)
	if chunked {
		length = "Transfer-Encoding: chunked"
	}
	fmt.Fprintf(conn, "POST /telegram/nova HTTP/1.1\r\nHost: x\r\nX-Telegram-Bot-Api-Secret-Token: %s\r\n%s\r\n\r\n", secret, length)
	go func() {
		block := strings.Repeat("x", 1<<16)
		for range size >> 16 {
			out := block
			if chunked {
				out = "10000\r\n" + block + "\r\n"
			}
			if _, err := io.WriteString(conn, out); err != nil {
				return
			}
		}
	}()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no answer to a large body: %v", err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Two bots of one process receive by webhook, each with a secret of its own. What
// strangers send is turned away and costs nothing; while the store is away
// Telegram keeps the updates, and nothing is lost.
//
// row L1
func TestWebhooksOfTwoBots(t *testing.T) {
	s := newStage(t)
	database := storetest.NewDurable(t)
	orbit := s.sim.AddBot(telegramsim.User{Name: "Orbit", Username: "orbit_bot"})
	address := freeAddress(t)
	rule := "    merge: 0s\n    dm: { role: echo, people: everyone }\n"
	dir := brainWith(t, "bots:\n  nova:\n"+rule+"  orbit:\n"+rule)
	c := spawn(t, []string{"TELEGRAM_BOT_TOKEN_NOVA=" + s.bot.Token, "TELEGRAM_BOT_TOKEN_ORBIT=" + orbit.Token},
		"run", "--brain", dir, "--database-url", database.DSN(), "--telegram-api-url", s.url, "--listen", address, "--public-url", "http://"+address)
	s.log = c.log
	nova, other := s.secretOf(s.bot), s.secretOf(orbit)
	if nova == other {
		t.Error("both bots have one secret")
	}
	ann, annOrbit := s.sim.DM(s.ann, s.bot), s.sim.DM(s.ann, orbit)
	ann.Say(s.ann, "to nova")
	annOrbit.Say(s.ann, "to orbit")
	if a, b := s.await(ann, 1), s.await(annOrbit, 1); a[0] != "to nova" || b[0] != "to orbit" {
		t.Errorf("answers %q, %q", a, b)
	}

	post := func(path, secret, body string) int {
		r, _ := http.NewRequest("POST", "http://"+address+path, strings.NewReader(body))
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	forged := `{"update_id":900000001,"message":{"message_id":9,"date":1,"chat":{"id":5,"type":"private"},"from":{"id":5,"first_name":"A"},"text":"forged"}}`
	for _, x := range []struct {
		name, path, secret, body string
		want                     int
	}{
		{"no secret", "/telegram/nova", "", forged, 401},
		{"the other bot's secret", "/telegram/nova", other, forged, 401},
		{"a bot that is not there", "/telegram/nobody", nova, forged, 401},
		{"no bot", "/telegram/", nova, forged, 404},
		{"another path", "/telegram/nova/x", nova, forged, 404},
		{"cut, with an id", "/telegram/nova", nova, `{"update_id":900000002,"message":{"text":"for`, 200},
		{"cut, without an id", "/telegram/nova", nova, `{"message":{"text":"forged`, 200},
		{"no JSON", "/telegram/nova", nova, "\x00\xff forged", 200},
		{"nothing", "/telegram/nova", nova, "", 200},
	} {
		if got := post(x.path, x.secret, x.body); got != x.want {
			t.Errorf("%s: %d, want %d", x.name, got, x.want)
		}
	}
	if resp, err := http.Get("http://" + address + "/telegram/nova"); err != nil || resp.StatusCode != 405 {
		t.Errorf("GET: %v, %v", resp, err)
	}
	before := c.peak(t)
	for _, chunked := range []bool{false, true, true} {
		if got := flood(t, address, nova, chunked); got != 413 {
			t.Errorf("200 MB, chunked %v: %d", chunked, got)
		}
		if got := flood(t, address, "wrong", chunked); got != 401 {
			t.Errorf("200 MB of a stranger, chunked %v: %d", chunked, got)
		}
	}
	if grown := c.peak(t) - before; grown > 24 {
		t.Errorf("large bodies cost %d MB of memory", grown)
	}

	database.Kill()
	for i := range 5 {
		ann.Say(s.ann, fmt.Sprintf("w%dx", i))
	}
	if got := post("/telegram/nova", nova, forged); got != 503 {
		t.Errorf("an update that cannot be stored is answered with %d", got)
	}
	tried := func() bool {
		return c.log.has("received updates cannot be stored") && c.log.has("the database does not do its part")
	}
	until(t, c.log, "the outage is told", tried)
	database.Start()
	until(t, c.log, "all was answered", func() bool { order, _ := heard(ann); return len(order) >= 5 })
	if order, _ := heard(ann); !slices.Equal(order, []string{"w0x", "w1x", "w2x", "w3x", "w4x"}) {
		t.Errorf("answers %q", order)
	}
	conn := connect(t, database.DSN())
	if n := count(t, conn, `select count(*) from attache.updates where state = 'broken'`); n != 1 {
		t.Errorf("%d updates count as broken, want the one that was cut", n)
	}
	if n := count(t, conn, `select count(*) from attache.updates where encode(raw, 'escape') like '%forged%'`); n != 0 {
		t.Errorf("%d forged updates were stored", n)
	}
	if n := len(s.sim.Calls(telegramsim.Filter{Method: "getUpdates"})); n != 0 {
		t.Errorf("it polled %d times", n)
	}
	c.interrupt(t)
	for _, secret := range []string{nova, other, s.bot.Token, orbit.Token} {
		if c.log.has(secret) {
			t.Error("a secret stands in the log")
		}
	}
}

// The right to receive by webhook is told like any other trouble with the token.
func TestAWrongTokenByWebhook(t *testing.T) {
	s := newStage(t)
	refuse := s.refuser()
	refuse.Store(true)
	address := freeAddress(t)
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "before")
	s.start("--listen", address, "--public-url", "http://"+address)
	until(t, s.log, "the token is called unknown", func() bool { return s.log.has("does not know the token") })
	refuse.Store(false)
	s.await(dm, 1)
	if loud := s.log.loud(); len(loud) != 1 || !strings.Contains(loud[0], "bot=nova") || !strings.Contains(loud[0], "TELEGRAM_BOT_TOKEN_NOVA") {
		t.Errorf("the log says of a wrong token:\n%s", strings.Join(loud, "\n"))
	}
	until(t, s.log, "the end is told", func() bool { return s.log.has(`"a step works now" bot=nova why="setting the webhook"`) })
}
