package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache"
	"attache/cmd/bot/demo"
	"attache/internal/store/storetest"
	"attache/internal/web/webtest"
)

// playing is the real wiring of `attache demo` with its page.
type playing struct {
	w     *demo.World
	brain string
	url   string
}

// startDemo starts what demoCommand starts, on a database of the test's own.
func startDemo(t *testing.T) *playing {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.DiscardHandler)
	w, err := demo.New()
	if err != nil {
		t.Fatal(err)
	}
	d := &playing{w: w, brain: exampleBrain(t)}
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
	own := &flags{Brain: d.brain, DatabaseURL: storetest.DSN(t), TelegramAPI: w.URL, Listen: "off"}
	p, err := start(ctx, own, settings{brain: brain, getenv: getenv, say: func(string) {},
		tokens: map[attache.BotID]attache.Secret{"nova": attache.NewSecret(w.Bot.Token)}}, log)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	url, end, err := w.Serve(ctx, p.demoPage("127.0.0.1:0", brain, log))
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
		p.Close()
		closeModel()
		w.Sim.Close()
	})
	return d
}

// Somebody who knows nothing makes the bot answer as three people in two chats, sees
// behind each answer, breaks a file and mends it. Everything is real but Telegram
// and the model.
//
// row N4
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
	if sheet := p.Text("#sheet"); !strings.Contains(sheet, "role home") || !strings.Contains(sheet, "instructions") || !strings.Contains(sheet, "shopping\nalways") {
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
	if sheet := p.Text("#sheet .links"); !strings.Contains(sheet, "client acme") || !strings.Contains(sheet, "chat") {
		t.Errorf("the sheet says that it carried:\n%s", sheet)
	}
	p.Click(`.tail summary`)
	p.Until(`document.querySelector(".tail pre").innerText.includes("Acme Anvils")`)
	shot(t, p, "carried")

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
	if bad := d.w.Sim.Violations(); len(bad) > 0 {
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
		p.Until(`document.getAnimations().every(a => a.playState === "finished" || a.effect.getTiming().iterations === Infinity)`)
		if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Shot(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
