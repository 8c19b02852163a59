package playground_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache"
	"attache/internal/web"
	"attache/internal/web/playground"
	"attache/internal/web/webtest"
)

// shoot keeps a picture where ATTACHE_SHOTS names a folder, for eyes.
func shoot(t *testing.T, p *webtest.Page, name string) {
	t.Helper()
	png := p.Shot()
	if dir := os.Getenv("ATTACHE_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// clean fails the test when the page's console shows an error: an exception, a file
// that was not loaded, a breach of the content security policy.
func clean(t *testing.T, p *webtest.Page) {
	t.Helper()
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Errorf("the console shows: %s", strings.Join(wrong, "\n"))
	}
}

// settled waits until the page of an address is there and the person can write.
func settled(t *testing.T, p *webtest.Page, path string) {
	t.Helper()
	p.Until(`location.pathname === "` + path + `" && document.readyState === "complete" && document.activeElement.id === "words"`)
}

// upright fails the test when something is wider than the window.
func upright(t *testing.T, p *webtest.Page, where string) {
	t.Helper()
	var wide []string
	p.Eval(`(() => {
		const clipped = (e) => e && e !== document.body && e.id !== "scroll" && (getComputedStyle(e).overflowX !== "visible" || clipped(e.parentElement));
		return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.checkVisibility() && !clipped(e.parentElement))
			.map(e => e.tagName + "." + e.className);
	})()`, &wide)
	var scrolls bool
	p.Eval(`document.documentElement.scrollWidth > innerWidth`, &scrolls)
	if len(wide) > 0 || scrolls {
		t.Errorf("%s: wider than the window (it scrolls: %v): %v", where, scrolls, wide)
	}
}

// The page in every light and at every width, with a conversation of all it can
// show: nothing overflows, and the browser has nothing to complain of.
// row N4
func TestLooks(t *testing.T) {
	b := webtest.Start(t)
	w := newToy()
	scene(w)
	_, url := serve(t, w)
	p := b.Open(url+"/as/ann/desk/2", 1360, 860)
	p.Media("prefers-reduced-motion", "reduce")
	p.Until(`document.querySelector("#m-8 .seen.read")`)
	shoot(t, p, "running")
	p.Click(`[data-turn="7"]`)
	p.Until(`document.querySelector(".sheet-id")?.textContent.includes("42")`)
	upright(t, p, "wide")
	shoot(t, p, "light")
	p.Media("prefers-color-scheme", "dark")
	shoot(t, p, "dark")
	p.Media("prefers-color-scheme", "light")
	p.Size(375, 740)
	upright(t, p, "phone, sheet")
	for _, view := range []string{"chat", "list", "sheet"} {
		p.Go(url + "/as/ann/desk/2?turn=7&view=" + view)
		upright(t, p, "phone, "+view)
		shoot(t, p, "phone-"+view)
	}
	p.Size(1360, 860)
	p.Go(url + "/as/cleo/nova-cleo/0")
	upright(t, p, "empty")
	shoot(t, p, "empty")
	p.Size(900, 700)
	p.Go(url + "/as/bo/family/0")
	upright(t, p, "tablet")
	shoot(t, p, "tablet")
	p.Go(url + "/as/ann/desk/2?turn=7&view=sheet")
	upright(t, p, "tablet, sheet")
	shoot(t, p, "tablet-sheet")
	clean(t, p)
}

// A person says things with the keyboard alone, as several people in several chats.
// row N4
func TestByKeyboard(t *testing.T) {
	b := webtest.Start(t)
	w := newToy()
	_, url := serve(t, w)
	p := b.Open(url, 1200, 800)
	settled(t, p, "/as/ann/nova-ann/0")
	p.Type("first line")
	p.Key("Shift+Enter")
	p.Type("second")
	p.Key("Enter")
	p.Until(`document.querySelector("#m-1 .body")?.innerText === "first line\nsecond" && document.querySelector("#words").value === ""`)
	w.post("nova-ann", playground.Post{From: nova(), Bot: true, Text: "an answer"})
	p.Until(`document.querySelector("#m-2")`)

	p.Key("ArrowUp") // in the empty box: mend the last own message
	p.Until(`document.querySelector("#words").value === "first line\nsecond"`)
	p.Type(", mended")
	p.Key("Enter")
	p.Until(`document.querySelector("#m-1 .body").innerText.endsWith("mended") && document.querySelector("#m-1 .stamp").innerText.includes("edited")`)

	p.Key("Shift+ArrowUp") // into the messages
	p.Until(`document.activeElement.id === "m-2"`)
	p.Key("ArrowUp")
	p.Until(`document.activeElement.id === "m-1"`)
	p.Key("ArrowDown")
	p.Until(`document.activeElement.id === "m-2"`)
	p.Key("r")
	p.Until(`document.activeElement.id === "words" && document.querySelector("#about").innerText.includes("Reply to Nova")`)
	p.Type("to that")
	p.Key("Enter")
	p.Until(`document.querySelector("#m-3 .reply-name")?.innerText === "Nova"`)

	p.Key("Alt+2") // Bo's own chat with Nova
	settled(t, p, "/as/bo/nova-bo/0")
	p.Key("Alt+ArrowDown")
	settled(t, p, "/as/bo/family/0")
	p.Type("hello family")
	p.Key("Enter")
	p.Until(`document.querySelector("#m-1.mine")`)
	p.Key("Alt+3") // Cleo sees what Bo said, from the other side
	settled(t, p, "/as/cleo/family/0")
	p.Until(`document.querySelector("#m-1.theirs")`)
	p.Key("Escape")
	p.Eval(`document.activeElement.blur()`, nil)
	p.Key("?")
	p.Until(`document.querySelector("#help").open`)
	shoot(t, p, "help")
	p.Key("Escape")
	p.Until(`!document.querySelector("#help").open`)

	var said []string
	for _, a := range w.done() {
		said = append(said, a.Person.Key+" "+string(a.Do)+" "+a.Chat+" "+a.Text)
	}
	if got, want := strings.Join(said, "; "), "ann say nova-ann first line\nsecond; ann edit nova-ann first line\nsecond, mended; ann say nova-ann to that; bo say family hello family"; got != want {
		t.Errorf("done:\n%s\nwant\n%s", got, want)
	}
	clean(t, p)
}

// A person with a mouse: quotes, buttons, files, the stop of a draft, the sheet.
// row N4
func TestByMouse(t *testing.T) {
	b := webtest.Start(t)
	w := newToy()
	scene(w)
	w.change(func() {
		w.chat("desk").Signs = []playground.Sign{{Thread: 2, Who: nova(), Draft: &playground.Post{From: nova(), Text: "I am wri"}, CanStop: true}}
	})
	_, url := serve(t, w)
	p := b.Open(url+"/as/bo/desk/2", 1300, 900)
	p.Until(`document.querySelector(".draft .body").innerText === "I am wri"`)
	p.Click(".stop")
	p.Until(`!document.querySelector(".draft")`)
	p.Click(`#m-5 button.key-button`)
	p.Until(`true`)

	p.Eval(`(() => { const text = document.querySelector("#m-7 .body strong").firstChild; getSelection().setBaseAndExtent(text, 0, text, 7) })()`, nil)
	p.Click(`#m-7 [data-reply]`)
	p.Until(`document.querySelector("#about-words").innerText === "Payment"`)
	p.Click("#words")
	p.Type("when exactly?")
	p.Click(".send")
	p.Until(`document.querySelector("#m-9 .reply-text")?.innerText === "Payment"`)

	file := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(file, picture(t), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Choose("#file", file)
	p.Until(`document.querySelector("#held-name").innerText === "a.png"`)
	p.Click(".send")
	p.Until(`document.querySelector("#m-10 img")?.naturalWidth === 40`)

	p.Click(`#m-5 .spoiler`)
	p.Until(`document.querySelector("#m-5 .spoiler.read")`)
	p.Click(`[data-turn="7"]`)
	p.Until(`document.querySelector(".sheet-id")?.innerText.includes("turn 42") && document.querySelector("#m-7.chosen")`)
	p.Click("#prompt-6 summary")
	p.Until(`document.querySelector("#prompt-6").open`)
	w.post("desk", playground.Post{Thread: 2, From: ann(), Text: "meanwhile"})
	p.Until(`document.querySelector("#m-11") && document.querySelector("#prompt-6").open && document.querySelector("#m-5 .spoiler.read")`)

	p.Click("#words")
	p.Type("refuse me")
	p.Key("Enter")
	p.Until(`document.querySelector("#wrong").innerText.includes("told to <b>refuse</b>") && document.querySelector("#words").value === "refuse me"`)

	var done []playground.Deed
	for _, a := range w.done() {
		done = append(done, a.Do)
	}
	if len(done) != 4 || done[0] != playground.Stop || done[1] != playground.Press || w.done()[1].Button != "remind:2041" || w.done()[2].Quote != "Payment" || w.done()[2].ReplyTo != 7 || w.done()[3].File.Kind != "photo" {
		t.Errorf("done: %+v", w.done())
	}
	for _, e := range p.Wrong() {
		if !strings.Contains(e, "422") { // the refusal, as the browser tells it
			t.Errorf("the console shows: %s", e)
		}
	}
}

// On a phone each pane is a view of its own.
// row N4
func TestOnPhone(t *testing.T) {
	b := webtest.Start(t)
	w := newToy()
	scene(w)
	_, url := serve(t, w)
	p := b.Open(url+"/as/ann/desk/2", 375, 700)
	visible := func(pane string) {
		t.Helper()
		p.Until(`[...document.querySelectorAll(".pane")].filter(e => e.checkVisibility()).map(e => e.className).join() === "pane ` + pane + `"`)
	}
	visible("chat")
	p.Click(".head .back")
	visible("list")
	p.Click(`a[href="/as/ann/family/0"]`)
	p.Until(`location.pathname === "/as/ann/family/0"`)
	visible("chat")
	p.Go(url + "/as/ann/desk/2")
	p.Click(`[data-turn="7"]`)
	visible("sheet")
	p.Until(`document.querySelector("#sheet").innerText.includes("INV-2041")`)
	p.Click(".sheet-bar .back")
	visible("chat")
	clean(t, p)
}

// Hostile words in a real browser: nothing runs, nothing loads, nothing overflows.
func TestHostileWordsInBrowser(t *testing.T) {
	b := webtest.Start(t)
	w := newToy()
	evil := `</div></article><script>window.hit=1</script><img src=x onerror="window.hit=1"><svg onload="window.hit=1">` + "\u202etxt.exe"
	who := attache.Person{ID: "tg:user:666", Name: evil}
	w.change(func() {
		w.chat("family").Title = evil
		w.bad = []attache.Problem{{File: evil, What: evil}}
	})
	w.post("family", playground.Post{From: who, Text: evil + strings.Repeat("W", 10000),
		Marks: []attache.Mark{{Kind: "text_link", Offset: 0, Length: 6, URL: "javascript:window.hit=1"}, {Kind: "pre", Offset: 3, Length: 20, Language: evil}}})
	w.post("family", playground.Post{From: who, Bot: true, Rich: evil + "\n\n[click](javascript:window.hit=1) ![x](https://example.com/x.png)\n\n| a |\n|---|\n| " + evil + strings.Repeat("W", 3000) + " |"})
	w.post("family", playground.Post{From: who, Text: "\u202e\u2067" + evil, Buttons: [][]attache.Button{{{Text: evil + strings.Repeat("W", 500), Data: "x"}}}})
	w.turns[2] = web.Turn{ID: 1, Status: "answered", Why: evil, Links: []web.Link{{Context: evil + strings.Repeat("W", 500), Status: "attached"}}, Prompt: []web.Message{{Role: evil, What: evil, Text: evil}}}
	_, url := serve(t, w)
	p := b.Open(url+"/as/ann/family/0", 1200, 900)
	p.Until(`document.querySelectorAll(".line").length === 3`)
	w.post("family", playground.Post{From: who, Text: evil}) // this one comes by the stream
	p.Until(`document.querySelector("#m-4")`)
	p.Click(`#m-3 [data-reply]`)
	p.Until(`document.querySelector("#about-words").textContent.includes("<script>")`)
	upright(t, p, "wide")
	shoot(t, p, "hostile")
	p.Size(375, 740)
	upright(t, p, "phone")
	var hit bool
	p.Eval(`"hit" in window || !!document.querySelector(".messages script, .messages svg[onload], .messages img, [href^='javascript' i]")`, &hit)
	if hit {
		t.Error("words became markup, or ran")
	}
	clean(t, p)
}

// A page outlives the process that made it: it says so, and goes on with the next.
func TestPageGoesOnAfterRestart(t *testing.T) {
	b := webtest.Start(t)
	w := newToy()
	first, err := playground.New(t.Context(), playground.Options{World: w, People: people()})
	if err != nil {
		t.Fatal(err)
	}
	s := newSwitch(t, first)
	p := b.Open(s.url+"/as/ann/family/0", 1200, 800)
	settled(t, p, "/as/ann/family/0")
	p.Type("not yet sent")
	var boot string
	p.Eval(`document.body.dataset.boot`, &boot)
	s.set(nil)
	p.Until(`document.querySelector("#lost").checkVisibility()`)
	second, err := playground.New(t.Context(), playground.Options{World: w, People: people()})
	if err != nil {
		t.Fatal(err)
	}
	s.set(second)
	p.Until(`document.body.dataset.boot !== "` + boot + `" && document.readyState === "complete" && !document.querySelector("#lost").checkVisibility() && document.querySelector("#words").value === "not yet sent"`)
	settled(t, p, "/as/ann/family/0")
	p.Key("Enter")
	p.Until(`document.querySelector("#m-1")`)
}
