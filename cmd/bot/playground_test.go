package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/internal/store/storetest"
	"attache/internal/telegramsim"
	"attache/internal/web/playground"
	"attache/internal/web/webtest"
)

// demo is the real wiring of `attache demo` with its page.
type demo struct {
	w     *demoWorld
	brain string
	url   string
}

// startDemo starts what demoCommand starts, on a database of the test's own.
func startDemo(t *testing.T) *demo {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	w, err := newDemoWorld()
	if err != nil {
		t.Fatal(err)
	}
	d := &demo{w: w, brain: exampleBrain(t)}
	brain, err := openBrain(d.brain, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("OPENAI_BASE_URL", "")
	getenv, closeModel, err := demoModel()
	if err != nil {
		t.Fatal(err)
	}
	own := &flags{Brain: d.brain, DatabaseURL: storetest.DSN(t), TelegramAPI: w.url, Listen: "off"}
	p, err := newProgram(ctx, own, settings{brain: brain, getenv: getenv, say: func(string) {},
		tokens: map[attache.BotID]attache.Secret{"nova": attache.NewSecret(w.bot.Token)}}, log)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.run(ctx) }()
	url, end, err := servePlayground(ctx, p, w, "127.0.0.1:0", "the rehearsal model")
	if err != nil {
		t.Fatal(err)
	}
	d.url = strings.TrimSuffix(url, "/")
	t.Cleanup(func() {
		cancel()
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		p.close()
		closeModel()
		w.sim.Close()
	})
	return d
}

// Somebody who knows nothing makes the bot answer as three people in two chats, sees
// behind each answer, breaks a file and mends it. Everything is real but Telegram
// and the model.
//
// rows N4, N1
func TestPlaygroundOfTheDemo(t *testing.T) {
	b := webtest.Start(t)
	d := startDemo(t)
	p := b.Open(d.url, 1360, 860)
	answered := func(who, chat string, n int) {
		t.Helper()
		p.Until(`document.querySelectorAll(".line.theirs .carried").length === ` + string(rune('0'+n)))
		p.Until(`document.querySelector(".sheet-title .state")?.innerText === "answered"`)
	}
	here := func(path string) {
		t.Helper()
		p.Until(`location.pathname === "` + path + `" && document.readyState === "complete" && document.activeElement.id === "words"`)
	}
	here("/as/ann/nova-ann/0")
	p.Click(".try button")
	p.Key("Enter")
	answered("ann", "nova-ann", 1)
	if sheet := p.Text("#sheet"); !strings.Contains(sheet, "role home") || !strings.Contains(sheet, "instructions") || !strings.Contains(sheet, "Nothing, and that is fine") {
		t.Errorf("behind the first answer stands:\n%s", sheet)
	}
	p.Click(`#prompt-0 summary`)
	p.Until(`document.querySelector("#prompt-0 pre").innerText.includes("Nova, the helper of a family")`)
	shot(t, p, "demo")

	p.Click(`a[href="/as/ann/family/0"]`)
	here("/as/ann/family/0")
	p.Key("Alt+2")
	here("/as/bo/family/0")
	p.Type("Who is home tonight?")
	p.Key("Enter")
	answered("bo", "family", 1)
	p.Key("Alt+3")
	here("/as/cleo/family/0")
	p.Type("And **tomorrow**?")
	p.Key("Enter")
	answered("cleo", "family", 2)

	p.Key("Alt+4") // Dan has no rule: silence, and the page says why
	here("/as/dan/nova-dan/0")
	p.Type("let me in")
	p.Key("Enter")
	p.Until(`document.querySelector(".carried.quiet")?.innerText.includes("ignored")`)
	p.Go(d.url + "/as/dan/acme/0")
	here("/as/dan/acme/0")
	p.Type("The logo is due on Thursday.")
	p.Key("Enter")
	p.Until(`document.querySelector(".carried.quiet")?.innerText.includes("observed")`)
	p.Type("@nova_bot what is due?")
	p.Key("Enter")
	answered("dan", "acme", 1)
	if answer := p.Text(".line.theirs:last-child .body"); !strings.Contains(answer, "Thursday") {
		t.Errorf("the room's lines did not ride along:\n%s", answer)
	}

	access := filepath.Join(d.brain, "constitution", "access.yaml")
	good, err := os.ReadFile(access)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(access, []byte(strings.Replace(string(good), "role: account", "role: acount", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	p.Until(`document.querySelector("#banner").textContent.includes("acount")`)
	if err := os.WriteFile(access, good, 0o644); err != nil {
		t.Fatal(err)
	}
	p.Until(`document.querySelector("#banner").textContent === ""`)
	if bad := d.w.sim.Violations(); len(bad) > 0 {
		t.Errorf("Telegram would complain: %v", bad)
	}
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Errorf("the console shows: %v", wrong)
	}
}

// shot keeps a picture where ATTACHE_SHOTS names a folder.
func shot(t *testing.T, p *webtest.Page, name string) {
	t.Helper()
	if dir := os.Getenv("ATTACHE_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Shot(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What the page shows of the simulator: who is where, drafts with their stop,
// typing, answers to buttons; and what people do there.
func TestPlayWorld(t *testing.T) {
	d, err := newDemoWorld()
	if err != nil {
		t.Fatal(err)
	}
	defer d.sim.Close()
	w := newPlayWorld(d)
	chat := func(key string) playground.Chat {
		for _, c := range w.Look() {
			if c.Key == key {
				return c
			}
		}
		t.Fatalf("there is no chat %s", key)
		return playground.Chat{}
	}
	person := func(key string) playground.Person {
		for _, p := range w.voices() {
			if p.Key == key {
				return p
			}
		}
		t.Fatalf("there is nobody called %s", key)
		return playground.Person{}
	}
	act := func(who, chat string, a playground.Action) error {
		a.Person, a.Chat = person(who), chat
		return w.Act(a)
	}
	if c := chat("acme"); strings.Join(c.People, " ") != "ann dan" || c.Title != "Acme" || c.Bot != "nova" {
		t.Errorf("Acme is %+v", c)
	}
	if c := chat("desk"); len(c.Topics) != 2 || len(c.Posts) != 2 || c.Posts[0].Service == "" {
		t.Errorf("Desk is %+v", c)
	}
	if c := chat("nova-bo"); c.Title != "Nova" || strings.Join(c.People, " ") != "bo" || c.Kind != "private" {
		t.Errorf("Bo's private chat is %+v", c)
	}

	long := strings.Repeat("👍", 2047) + "x" + strings.Repeat("👍", 10) // 4115 units
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Say, Text: long}); err != nil {
		t.Fatal(err)
	}
	if c := chat("nova-bo"); len(c.Posts) != 2 || c.Posts[0].Text+c.Posts[1].Text != long || attache.UTF16Len(c.Posts[0].Text) != 4095 {
		t.Errorf("a long text is %d messages", len(c.Posts))
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Say, Text: "look", File: &playground.File{Kind: "document", Name: "a.txt", Data: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Edit, Message: 1, Text: "short"}); err != nil {
		t.Fatal(err)
	}
	if c := chat("nova-bo"); c.Posts[0].Text != "short" || c.Posts[0].Edits != 1 || c.Posts[2].File.Name != "a.txt" {
		t.Errorf("after a file and an edit: %+v", c.Posts)
	}
	for name, err := range map[string]error{
		"another's message": act("ann", "nova-bo", playground.Action{Do: playground.Edit, Message: 1, Text: "mine"}),
		"not a member":      act("cleo", "acme", playground.Action{Do: playground.Say, Text: "hi"}),
		"no draft":          act("bo", "nova-bo", playground.Action{Do: playground.Stop}),
		"no such button":    act("bo", "nova-bo", playground.Action{Do: playground.Press, Message: 1, Button: "x"}),
		"no such deed":      act("bo", "nova-bo", playground.Action{Do: "rob"}),
		"no such chat":      act("bo", "x", playground.Action{Do: playground.Say, Text: "x"}),
	} {
		if err == nil {
			t.Errorf("%s: it was done", name)
		}
	}

	bo := chat("nova-bo")
	call := func(method string, params map[string]any) {
		t.Helper()
		botCall(t, d, method, params)
	}
	if len(bo.Signs) != 0 {
		t.Errorf("at rest it shows %+v", bo.Signs)
	}
	call("sendChatAction", map[string]any{"chat_id": 102, "action": "typing"})
	if s := chat("nova-bo").Signs; len(s) != 1 || s[0].Draft != nil || s[0].Who.Name != "Nova" {
		t.Errorf("typing shows as %+v", s)
	}
	call("sendMessageDraft", map[string]any{"chat_id": 102, "draft_id": 5, "text": "I am wri", "can_stop": true})
	if s := chat("nova-bo").Signs; len(s) != 1 || s[0].Draft == nil || s[0].Draft.Text != "I am wri" || !s[0].CanStop {
		t.Errorf("a draft shows as %+v", s)
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Stop}); err != nil {
		t.Fatal(err)
	}
	if s := chat("nova-bo").Signs; len(s) != 0 {
		t.Errorf("a stopped draft shows as %+v", s)
	}
	call("sendMessageDraft", map[string]any{"chat_id": 102, "draft_id": 6, "text": "again"})
	call("sendMessage", map[string]any{"chat_id": 102, "text": "Done.", "reply_markup": map[string]any{"inline_keyboard": [][]map[string]any{{{"text": "Yes", "callback_data": "y"}}}}})
	c := chat("nova-bo")
	if len(c.Signs) != 0 || len(c.Posts) != 4 || c.Posts[3].Buttons[0][0].Data != "y" || !c.Posts[3].Bot {
		t.Errorf("after the post: %+v %+v", c.Signs, c.Posts[len(c.Posts)-1])
	}
	if err := act("bo", "nova-bo", playground.Action{Do: playground.Press, Message: 4, Button: "y"}); err != nil {
		t.Fatal(err)
	}
	for query := range w.pressed {
		if query != "" {
			call("answerCallbackQuery", map[string]any{"callback_query_id": query, "text": "noted"})
		}
	}
	if s := chat("nova-bo").Signs; len(s) != 1 || s[0].Notice != "noted" || s[0].For != "tg:user:102" {
		t.Errorf("the answer to a button shows as %+v", s)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := w.Wait(ctx, func() bool { return len(w.sim.Calls(telegramsim.Filter{Method: "sendMessage"})) == 1 }); err != nil {
		t.Error(err)
	}
	if bad := d.sim.Violations(); len(bad) > 0 {
		t.Errorf("Telegram would complain: %v", bad)
	}
}

// botCall is a call of the demo's bot, made by hand.
func botCall(t *testing.T, d *demoWorld, method string, params map[string]any) {
	t.Helper()
	body, err := json.Marshal(params)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(d.url+"/bot"+d.bot.Token+"/"+method, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if answer, _ := io.ReadAll(r.Body); r.StatusCode != 200 {
		t.Fatalf("%s: %s", method, answer)
	}
}
