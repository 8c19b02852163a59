package playground_test

import (
	"os"
	"path/filepath"
	"testing"

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
	shoot(t, p, "light")
	p.Media("prefers-color-scheme", "dark")
	shoot(t, p, "dark")
	p.Media("prefers-color-scheme", "light")
	p.Size(375, 740)
	shoot(t, p, "phone-chat")
	p.Go(url + "/as/ann/desk/2?view=list")
	shoot(t, p, "phone-list")
	p.Go(url + "/as/ann/desk/2?view=sheet&turn=7")
	shoot(t, p, "phone-sheet")
	p.Size(1360, 860)
	p.Go(url + "/as/cleo/nova-cleo/0")
	shoot(t, p, "empty")
	p.Size(900, 700)
	p.Go(url + "/as/bo/family/0")
	shoot(t, p, "tablet")
	if wrong := p.Wrong(); len(wrong) > 0 {
		t.Errorf("the console shows: %v", wrong)
	}
}
