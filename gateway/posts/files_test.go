package posts_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"attache"
	"attache/gateway/posts"
	"attache/internal/store"
)

// report is a file with every byte in it.
func report() *attache.Upload {
	data := make([]byte, 256)
	for i := range data {
		data[i] = byte(i)
	}
	return &attache.Upload{Kind: "document", Name: "report.pdf", MIME: "application/pdf", Data: data}
}

func withFile(markdown string) attache.Outgoing {
	o := outgoing(markdown, "")
	o.File = report()
	return o
}

// files gives what came with each post.
func (r *room) files(n int) (out []string) {
	r.t.Helper()
	for _, p := range r.m.Wait(r.t, n) {
		out = append(out, p.File)
	}
	return out
}

func (r *room) kept() string {
	r.t.Helper()
	return r.text(`select coalesce(string_agg(name || ' ' || mime || ' ' || length(data), ','), '') from attache.post_files`)
}

// A file goes out with its part, in whatever form and place that is taken, and is
// not kept once its fate is known.
func TestAFileGoesOut(t *testing.T) {
	with := "report.pdf: " + string(report().Data)
	for _, c := range []struct {
		name    string
		answers []attache.Delivery
		files   []string
		fate    attache.Fate
	}{
		{name: "taken", files: []string{with, ""}, fate: attache.FateSent},
		{name: "after a pause", answers: []attache.Delivery{{Fate: attache.FateHeld, After: time.Millisecond}}, files: []string{with, ""}, fate: attache.FateSent},
		{name: "in another place", answers: []attache.Delivery{{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -100900}}, files: []string{with, ""}, fate: attache.FateSent},
		{name: "refused", answers: []attache.Delivery{refused(attache.RefusalOther)}, files: []string{""}, fate: attache.FateRefused},
		{name: "unknown", answers: []attache.Delivery{{Fate: attache.FateUnknown, Why: "cut"}}, files: []string{""}, fate: attache.FateUnknown},
	} {
		r := newRoom(t)
		r.m.Answers = c.answers
		for range 2 {
			said, err := r.office("one").Say(t.Context(), 7, "c1", withFile("a|b"))
			if err != nil || said.Fate != c.fate {
				t.Errorf("%s: said %+v, %v", c.name, said, err)
			}
		}
		if got := r.files(len(c.files)); !slices.Equal(got, c.files) {
			t.Errorf("%s: files %q", c.name, got)
		}
		if got := r.kept(); got != "" {
			t.Errorf("%s: kept %s", c.name, got)
		}
	}
}

// Who goes on after a crash has the bytes of the intent; a call that was interrupted
// is not repeated, and its file is not kept.
func TestAFileOutlivesACrash(t *testing.T) {
	with := "report.pdf: " + string(report().Data)
	for state, want := range map[string][]string{"intent": {with}, "sending": nil} {
		r := newRoom(t)
		ctx, cancel := context.WithCancel(t.Context())
		r.m.Answers = []attache.Delivery{{Fate: attache.FateHeld, After: time.Hour}}
		done := make(chan error)
		go func() {
			_, err := r.office("dead").Say(ctx, 7, "c1", withFile("a"))
			done <- err
		}()
		r.until("the file is held", func() bool {
			return r.text(`select coalesce(sum(tries), 0) from attache.posts`) == "1" && r.states() == "intent"
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if got := r.kept(); got != "report.pdf application/pdf 256" {
			t.Errorf("kept %q", got)
		}
		r.exec(`update attache.posts set state = $1`, state)
		other := withFile("a")
		other.File.Data = bytes.Repeat([]byte("x"), 10)
		for range 2 {
			if _, err := r.office("two").Say(t.Context(), 7, "c1", other); err != nil {
				t.Fatal(err)
			}
		}
		if got := r.files(len(want)); !slices.Equal(got, want) {
			t.Errorf("%s: files %q", state, got)
		}
		if got := r.kept(); got != "" {
			t.Errorf("%s: kept %s", state, got)
		}
	}
}

// Nothing is kept of a file that is not sent any more.
func TestFilesOfStoppedAndOldPosts(t *testing.T) {
	for name, end := range map[string]func(r *room, o *posts.Office) error{
		"stopped":   func(r *room, o *posts.Office) error { return o.DropIntents(r.t.Context(), 7) },
		"forgotten": func(r *room, o *posts.Office) error { return o.Forget(r.t.Context(), -time.Hour) },
	} {
		r := newRoom(t)
		o := r.office("one")
		ctx, cancel := context.WithCancel(t.Context())
		r.m.Answers = []attache.Delivery{{Fate: attache.FateHeld, After: time.Hour}}
		done := make(chan error)
		go func() {
			_, err := o.Say(ctx, 7, "c1", withFile("a"))
			done <- err
		}()
		r.until("the file is held", func() bool {
			return r.text(`select coalesce(sum(tries), 0) from attache.posts`) == "1" && r.states() == "intent"
		})
		cancel()
		<-done
		if err := end(r, o); err != nil || r.kept() != "" {
			t.Errorf("%s: %v, kept %s", name, err, r.kept())
		}
	}
	r := newRoom(t)
	if err := r.db.InTx(t.Context(), func(tx store.Tx) error { return r.office("one").PutChrome(t.Context(), tx, withFile("a")) }); err == nil {
		t.Error("chrome took a file that it would lose")
	}
}
