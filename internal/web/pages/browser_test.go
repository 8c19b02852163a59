package pages_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// upright fails the test when something is wider than the window.
func upright(t *testing.T, p *webtest.Page, where string) {
	t.Helper()
	var wide []string
	p.Eval(`(() => {
		const clipped = (e) => e && e !== document.body && (getComputedStyle(e).overflowX !== "visible" || clipped(e.parentElement));
		return [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.checkVisibility() && !clipped(e.parentElement))
			.map(e => e.tagName + "." + e.className);
	})()`, &wide)
	var scrolls bool
	p.Eval(`document.documentElement.scrollWidth > innerWidth`, &scrolls)
	if len(wide) > 0 || scrolls {
		t.Errorf("%s: wider than the window (it scrolls: %v): %v", where, scrolls, wide)
	}
}

// enter logs in by the keyboard alone.
func enter(t *testing.T, p *webtest.Page) {
	t.Helper()
	p.Until(`document.activeElement.id === "token"`)
	p.Type(token)
	p.Key("Enter")
	p.Until(`location.pathname !== "/login" && document.readyState === "complete"`)
}

// every is each page, by what its picture is called.
func every() map[string]string {
	return map[string]string{"overview": "/", "turns": "/turns", "turn": "/turns/120", "context": "/system/context", "chats": "/chats", "chat": "/chats/nova/-1001/42",
		"usage": "/usage?window=30d", "doctor": "/doctor", "approvals": "/approvals", "missing": "/turns/999"}
}

// Each page in every light and at every width: nothing overflows, and the browser
// has nothing to complain of.
// row N5 (but shared context and approvals)
func TestLooks(t *testing.T) {
	b := webtest.Start(t)
	url := serve(t, scene())
	p := b.Open(url+"/turns", 1200, 860)
	shoot(t, p, "login")
	upright(t, p, "login")
	enter(t, p)
	for name, path := range every() {
		p.Size(1200, 900)
		p.Go(url + path)
		upright(t, p, name)
		shoot(t, p, name)
		p.Media("prefers-color-scheme", "dark")
		shoot(t, p, name+"-dark")
		p.Media("prefers-color-scheme", "light")
		p.Size(375, 740)
		p.Go(url + path)
		upright(t, p, name+" on a phone")
		shoot(t, p, name+"-phone")
	}
	var errors []string
	for _, e := range p.Wrong() {
		if !strings.Contains(e, "404") { // /turns/999, as the browser tells it
			errors = append(errors, e)
		}
	}
	if len(errors) > 0 {
		t.Errorf("the console shows: %s", strings.Join(errors, "\n"))
	}
}

// A program that has done nothing yet: each page says what will stand there.
func TestLooksEmpty(t *testing.T) {
	b := webtest.Start(t)
	url := serve(t, &toy{})
	p := b.Open(url+"/", 1000, 800)
	enter(t, p)
	for name, path := range every() {
		if name == "turn" || name == "chat" || name == "missing" {
			continue
		}
		p.Go(url + path)
		p.Until(`document.querySelector("main .calm, main .tiles")`)
		upright(t, p, name+", empty")
		shoot(t, p, "empty-"+name)
	}
	clean(t, p)
}

// Somebody logs in, walks from the list to a turn and back, and leaves, with the
// keyboard alone.
// row N5 (but shared context and approvals)
func TestByKeyboard(t *testing.T) {
	b := webtest.Start(t)
	w := scene()
	url := serve(t, w)
	p := b.Open(url+"/turns?status=answered", 1200, 800)
	p.Until(`document.activeElement.id === "token"`)
	p.Type("wrong")
	p.Key("Enter")
	p.Until(`document.querySelector("#wrong")?.innerText.includes("not the token") && document.activeElement.id === "token"`)
	enter(t, p)
	p.Until(`location.pathname + location.search === "/turns?status=answered"`)
	tab(t, p, `document.activeElement.id === "turn-120"`)
	shoot(t, p, "focus")
	p.Key("Enter")
	p.Until(`location.pathname === "/turns/120" && document.querySelector("#sheet-carried")`)
	tab(t, p, `document.activeElement.matches("#prompt-3 summary")`)
	p.Key("Enter")
	p.Until(`document.querySelector("#prompt-3").open`)
	p.Eval(`history.back()`, nil)
	p.Until(`location.pathname + location.search === "/turns?status=answered"`)

	tab(t, p, `document.activeElement.rel === "next"`)
	p.Key("Enter")
	p.Until(`location.search.includes("before=") && document.querySelector("a[rel=prev]")`)

	p.Go(url + "/chats/nova/-1001/42")
	tab(t, p, `document.activeElement.id === "text"`)
	p.Type("The posters are <b>here</b>.")
	tab(t, p, `document.activeElement.innerText === "Send"`)
	p.Key("Enter")
	p.Until(`location.search === "?said=1" && document.querySelector(".say-note").innerText.includes("handed to Telegram")`)
	w.mu.Lock()
	if len(w.said) != 1 || w.said[0] != "nova/-1001/42: The posters are <b>here</b>." {
		t.Errorf("said: %q", w.said)
	}
	w.mu.Unlock()

	tab(t, p, `document.activeElement.innerText === "Log out"`)
	p.Key("Enter")
	p.Until(`location.pathname === "/login"`)
	p.Go(url + "/turns")
	p.Until(`location.pathname === "/login"`)
	for _, e := range p.Wrong() {
		if !strings.Contains(e, "401") { // the wrong token, as the browser tells it
			t.Errorf("the console shows: %s", e)
		}
	}
}

// tab presses the tab key until the focus is where it should be.
func tab(t *testing.T, p *webtest.Page, there string) {
	t.Helper()
	p.Until(`document.readyState === "complete"`)
	for range 150 {
		p.Key("Tab")
		var ok bool
		p.Eval(there, &ok)
		if ok {
			return
		}
	}
	t.Fatalf("the tab key does not lead to: %s", there)
}

// Hostile words in a real browser: nothing runs, nothing loads, nothing overflows.
func TestHostileWordsInBrowser(t *testing.T) {
	b := webtest.Start(t)
	url := serve(t, hostile())
	p := b.Open(url+"/", 1200, 860)
	enter(t, p)
	for name, path := range map[string]string{"overview": "/", "turns": "/turns", "turn": "/turns/1", "context": "/system/context", "chats": "/chats", "chat": "/chats/nova/-1001",
		"usage": "/usage", "doctor": "/doctor"} {
		for _, width := range []int{1200, 375} {
			p.Size(width, 800)
			p.Go(url + path)
			upright(t, p, "hostile "+name)
		}
		shoot(t, p, "hostile-"+name)
		var hit bool
		p.Eval(`"hit" in window || !!document.querySelector("main script, main svg[onload], main img, [href^='javascript' i]")`, &hit)
		if hit {
			t.Errorf("%s: words became markup, or ran", name)
		}
	}
	clean(t, p)
}

// A piece of a plot is told when a pointer rests on it, and in numbers below.
func TestPlotSaysUnknown(t *testing.T) {
	b := webtest.Start(t)
	w := scene()
	w.now = time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	url := serve(t, w)
	p := b.Open(url+"/usage", 1200, 860)
	enter(t, p)
	var title string
	p.Eval(`document.querySelector(".plot .unknown").parentElement.querySelector("title").textContent`, &title)
	if !strings.HasPrefix(title, "Sun 29 November: unknown: 4 calls without a price") {
		t.Errorf("the bar says %q", title)
	}
	if got := p.Text(".tile-big"); got != "unknown" {
		t.Errorf("the cost reads %q", got)
	}
	clean(t, p)
}
