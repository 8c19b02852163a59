// Package webtest drives a real Chromium in tests: what a page is worth shows in a
// browser only. It speaks the DevTools protocol over two pipes, so it needs nothing
// but the browser itself, which scripts/chromium installs.
package webtest

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long a step of a page may take on a busy machine.
const Patience = 30 * time.Second

// Browser is a running Chromium with an empty profile of its own.
type Browser struct {
	t    testing.TB
	in   *os.File
	mu   sync.Mutex
	last int
	wait map[int]chan answer
	on   map[string]func(method string, params json.RawMessage) // by session
}

type answer struct {
	ID      int             `json:"id"`
	Session string          `json:"sessionId"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start starts a browser that ends with the test. Where there is none the test is
// skipped, with the command that gets one.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := find()
	if path == "" {
		t.Skip("no Chromium is here, so nothing was seen in a browser; run scripts/chromium, or install one and name it in CHROMIUM")
	}
	theirs, in, err := os.Pipe()
	must(t, err)
	out, theirOut, err := os.Pipe()
	must(t, err)
	profile, err := os.MkdirTemp("", "attache-chromium")
	must(t, err)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--force-color-profile=srgb", "--lang=en", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, theirOut}
	must(t, cmd.Start())
	_, _ = theirs.Close(), theirOut.Close() // the child has them
	b := &Browser{t: t, in: in, wait: map[int]chan answer{}, on: map[string]func(string, json.RawMessage){}}
	go b.listen(out)
	t.Cleanup(func() {
		_ = b.try("", "Browser.close", nil, nil) // a browser that has died cannot be closed
		patience := time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		patience.Stop()
		_ = in.Close()
		_ = out.Close()
		_ = os.RemoveAll(profile)
	})
	return b
}

// find looks for a browser.
func find() string {
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listen hands answers and events to those that wait for them.
func (b *Browser) listen(out *os.File) {
	in := bufio.NewReaderSize(out, 1<<20)
	for {
		raw, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(raw[:len(raw)-1], &a) != nil {
			continue
		}
		b.mu.Lock()
		to, handle := b.wait[a.ID], b.on[a.Session]
		delete(b.wait, a.ID)
		b.mu.Unlock()
		switch {
		case a.Method != "" && handle != nil:
			handle(a.Method, a.Params)
		case a.Method == "" && to != nil:
			to <- a
		}
	}
}

// try does one command of the protocol.
func (b *Browser) try(session, method string, params any, result any) error {
	b.mu.Lock()
	b.last++
	id, to := b.last, make(chan answer, 1)
	b.wait[id] = to
	raw, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Session string `json:"sessionId,omitempty"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
	}{id, session, method, params})
	if err == nil {
		_, err = b.in.Write(append(raw, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	select {
	case a := <-to:
		if a.Error != nil {
			return fmt.Errorf("%s: %s", method, a.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.Result, result)
	case <-ctx.Done():
		return fmt.Errorf("%s: the browser does not answer", method)
	}
}

// Page is one tab.
type Page struct {
	b       *Browser
	t       testing.TB
	session string
	media   map[string]string
	mu      sync.Mutex
	wrong   []string
}

// Open opens an address in a tab of its own, of the given size in CSS pixels.
func (b *Browser) Open(url string, width, height int) *Page {
	b.t.Helper()
	var target struct{ TargetID string }
	must(b.t, b.try("", "Target.createTarget", map[string]any{"url": "about:blank"}, &target))
	var at struct{ SessionID string }
	must(b.t, b.try("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &at))
	p := &Page{b: b, t: b.t, session: at.SessionID, media: map[string]string{}}
	b.mu.Lock()
	b.on[at.SessionID] = p.event
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "DOM"} {
		p.do(domain+".enable", nil, nil)
	}
	p.Size(width, height)
	p.Go(url)
	return p
}

func (p *Page) do(method string, params any, result any) {
	p.t.Helper()
	must(p.t, p.b.try(p.session, method, params, result))
}

// event collects what goes wrong in the page.
func (p *Page) event(method string, params json.RawMessage) {
	switch method {
	case "Runtime.exceptionThrown", "Log.entryAdded":
		var e struct {
			Entry struct{ Level, Text, URL string }
			Text  json.RawMessage `json:"exceptionDetails"`
		}
		if json.Unmarshal(params, &e) != nil || e.Entry.Level != "" && e.Entry.Level != "error" {
			return
		}
		p.mu.Lock()
		p.wrong = append(p.wrong, strings.TrimSpace(e.Entry.Text+" "+e.Entry.URL+" "+string(e.Text)))
		p.mu.Unlock()
	}
}

// Wrong gives the errors that the page's console shows: exceptions, refused loads,
// breaches of the content security policy.
func (p *Page) Wrong() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.wrong...)
}

// Go opens another address in the tab.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.do("Page.navigate", map[string]any{"url": url}, nil)
	p.Until(`document.readyState === "complete" && location.href !== "about:blank"`)
}

// Size makes the window as large as that; below 500 it is a phone with a finger.
func (p *Page) Size(width, height int) {
	p.t.Helper()
	phone := width < 500
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}, nil)
	p.do("Emulation.setTouchEmulationEnabled", map[string]any{"enabled": phone}, nil)
	p.Media("hover", map[bool]string{true: "none", false: "hover"}[phone])
}

// Media sets what the page is told of the person's wishes, such as
// "prefers-color-scheme" "dark".
func (p *Page) Media(feature, value string) {
	p.t.Helper()
	p.media[feature] = value
	features := []map[string]string{}
	for name, value := range p.media {
		features = append(features, map[string]string{"name": name, "value": value})
	}
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": features}, nil)
}

// Eval gives the value of an expression, awaited if it is a promise.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	must(p.t, p.eval(expression, into))
}

func (p *Page) eval(expression string, into any) error {
	var r struct {
		Result    struct{ Value json.RawMessage }
		Exception *struct {
			Text      string
			Exception struct{ Description string }
		} `json:"exceptionDetails"`
	}
	err := p.b.try(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true}, &r)
	switch {
	case err != nil:
		return err
	case r.Exception != nil:
		return fmt.Errorf("%s: %s %s", expression, r.Exception.Text, r.Exception.Exception.Description)
	case into == nil || len(r.Result.Value) == 0:
		return nil
	}
	return json.Unmarshal(r.Result.Value, into)
}

// Text gives what a person reads in the first element of a selector.
func (p *Page) Text(selector string) string {
	p.t.Helper()
	var s string
	p.Eval(fmt.Sprintf(`document.querySelector(%q)?.innerText ?? "(no such element)"`, selector), &s)
	return s
}

// Until returns once an expression is true. It fails the test when that does not
// come, with what the page shows then.
func (p *Page) Until(condition string) {
	p.t.Helper()
	ask := fmt.Sprintf(`new Promise(done => { const end = Date.now() + 5000; const look = () => {
		let ok = false; try { ok = !!(%s) } catch {} ok || Date.now() > end ? done(ok) : setTimeout(look, 10) }; look() })`, condition)
	var ok bool
	for end := time.Now().Add(Patience); time.Now().Before(end); {
		if err := p.eval(ask, &ok); ok || err != nil && !moved(err) {
			must(p.t, err)
			return
		}
	}
	p.t.Fatalf("the page never came to: %s\nit shows:\n%s\nits errors: %v", condition, p.Text("body"), p.Wrong())
}

// moved reports whether an error only says that the page went elsewhere meanwhile.
func moved(err error) bool {
	return strings.Contains(err.Error(), "context was destroyed") || strings.Contains(err.Error(), "Cannot find context") || strings.Contains(err.Error(), "navigated or closed")
}

// Type writes text where the focus is.
func (p *Page) Type(text string) {
	p.t.Helper()
	p.do("Input.insertText", map[string]any{"text": text}, nil)
}

// Key presses a key by its name, with modifiers before it: "Enter", "Shift+Enter",
// "Alt+2", "r".
func (p *Page) Key(name string) {
	p.t.Helper()
	modifiers, parts := 0, strings.Split(name, "+")
	for _, m := range parts[:len(parts)-1] {
		modifiers |= map[string]int{"Alt": 1, "Control": 2, "Meta": 4, "Shift": 8}[m]
	}
	key := parts[len(parts)-1]
	k := map[string]any{"type": "keyDown", "modifiers": modifiers, "key": key, "code": key, "windowsVirtualKeyCode": map[string]int{
		"Enter": 13, "Tab": 9, "Escape": 27, "ArrowUp": 38, "ArrowDown": 40}[key]}
	if len(key) == 1 {
		k["code"], k["windowsVirtualKeyCode"] = "Key"+strings.ToUpper(key), int(strings.ToUpper(key)[0])
		if key[0] >= '0' && key[0] <= '9' {
			k["code"] = "Digit" + key
		}
		if modifiers&^8 == 0 {
			k["text"] = key
		}
	} else if key == "Enter" {
		k["text"] = "\r"
	}
	p.do("Input.dispatchKeyEvent", k, nil)
	k["type"] = "keyUp"
	delete(k, "text")
	p.do("Input.dispatchKeyEvent", k, nil)
}

// Click presses the mouse on the middle of the first element of a selector.
func (p *Page) Click(selector string) {
	p.t.Helper()
	p.Until(fmt.Sprintf(`document.querySelector(%q)`, selector))
	var at struct{ X, Y float64 }
	p.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "nearest"}); const r = e.getBoundingClientRect();
		return {X: r.x + r.width / 2, Y: r.y + r.height / 2} })()`, selector), &at)
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		p.do("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// Choose puts a file into a file input.
func (p *Page) Choose(selector, path string) {
	p.t.Helper()
	var doc struct{ Root struct{ NodeID int } }
	p.do("DOM.getDocument", nil, &doc)
	var node struct{ NodeID int }
	p.do("DOM.querySelector", map[string]any{"nodeId": doc.Root.NodeID, "selector": selector}, &node)
	p.do("DOM.setFileInputFiles", map[string]any{"nodeId": node.NodeID, "files": []string{path}}, nil)
}

// Shot gives a PNG picture of what the window shows.
func (p *Page) Shot() []byte {
	p.t.Helper()
	var shot struct{ Data string }
	p.do("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	must(p.t, err)
	return png
}
