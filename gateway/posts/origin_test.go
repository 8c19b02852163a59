package posts_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/gateway/posts"
	"attache/internal/store"

	"github.com/google/go-cmp/cmp"
)

// rating is why a post was sent.
func rating() *attache.Origin {
	return &attache.Origin{Run: "heartbeat:film", Feature: "coach", Reach: attache.Reach{{Context: "coach_film", Key: "dune-2"}, {Context: "plain"}}}
}

func withOrigin(markdown string, f attache.Format) attache.Outgoing {
	o := outgoing(markdown, f)
	o.Origin = rating()
	return o
}

// posted is what the owner of origins hears of one part.
func posted(at attache.Place, text string, m attache.MessageID) posts.Posted {
	return posts.Posted{Place: at, Messages: []attache.MessageID{m}, Origin: *rating(), Text: text}
}

// An origin is told of once for each part that was sent, where it really stands.
//
// row C1 (posts and their parts)
func TestOriginsOfParts(t *testing.T) {
	chat := attache.Place{Bot: "nova", Chat: -9}
	supergroup := attache.Place{Bot: "nova", Chat: -100900, Thread: 42}
	moved := attache.Delivery{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -100900}
	sent := attache.Delivery{Fate: attache.FateSent}
	for _, c := range []struct {
		name    string
		answers []attache.Delivery
		text    string
		format  attache.Format
		want    []posts.Posted
	}{
		{name: "each part", text: "a|b", want: []posts.Posted{posted(here(), "a", 1001), posted(here(), "b", 1002)}},
		{name: "only those that were sent", text: "a|b|c", answers: []attache.Delivery{refused(attache.RefusalOther), {Fate: attache.FateUnknown}},
			want: []posts.Posted{posted(here(), "c", 1001)}},
		{name: "also parts that another form needs", text: "a|b", format: attache.FormatRich, answers: []attache.Delivery{refused(attache.RefusalFormat)},
			want: []posts.Posted{posted(here(), "a", 1001), posted(here(), "b", 1002)}},
		{name: "not in the topic that is gone", text: "a", answers: []attache.Delivery{refused(attache.RefusalThread)}, want: []posts.Posted{posted(chat, "a", 1001)}},
		{name: "and not under the old number", text: "a|b", answers: []attache.Delivery{sent, moved},
			want: []posts.Posted{posted(here(), "a", 1001), posted(supergroup, "b", 1002)}},
		{name: "after a pause", text: "a", answers: []attache.Delivery{{Fate: attache.FateHeld, After: time.Millisecond}}, want: []posts.Posted{posted(here(), "a", 1001)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRoom(t)
			r.m.Answers = c.answers
			var end closing
			_, err := r.office("one").Answer(t.Context(), posts.Answer{Outgoing: withOrigin(c.text, c.format), Turn: 7, Fresh: true, ToChat: true, Close: end.close})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, r.known); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What has no origin is not told of, whoever says it.
func TestPostsWithoutAnOrigin(t *testing.T) {
	r := newRoom(t)
	o := r.office("one")
	var end closing
	if _, err := o.Answer(t.Context(), posts.Answer{Outgoing: outgoing("a", ""), Turn: 7, Fresh: true, Close: end.close}); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Say(t.Context(), 7, "c1", outgoing("b", "")); err != nil {
		t.Fatal(err)
	}
	if err := r.db.InTx(t.Context(), func(tx store.Tx) error { return o.PutChrome(t.Context(), tx, outgoing("c", "")) }); err != nil {
		t.Fatal(err)
	}
	o.SendChrome(t.Context())
	r.until("all is sent", func() bool { return r.states() == "sent,sent,sent" })
	if len(r.known) != 0 {
		t.Errorf("told of %v", r.known)
	}
}

// The origin that was written down with the intent is the one that a post has,
// whatever who goes on with it would say.
//
// row C1 (over a crash)
func TestAnOriginOutlivesACrash(t *testing.T) {
	r := newRoom(t)
	if _, err := r.office("dead").Say(t.Context(), 7, "c1", withOrigin("a|b", "")); err != nil {
		t.Fatal(err)
	}
	r.known = nil
	r.exec(`update attache.posts set state = case part when 0 then 'sent' else 'intent' end, done = null`)
	if _, err := r.office("two").Say(t.Context(), 7, "c1", outgoing("another text", "")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]posts.Posted{posted(here(), "b", 1003)}, r.known); diff != "" {
		t.Error(diff)
	}
	r.known = nil
	dead := r.office("dead")
	if err := r.db.InTx(t.Context(), func(tx store.Tx) error { return dead.PutChrome(t.Context(), tx, withOrigin("card", "")) }); err != nil {
		t.Fatal(err)
	}
	heir := r.office("heir")
	if err := r.db.InTx(t.Context(), func(tx store.Tx) error {
		_, _, err := heir.Inherit(t.Context(), tx, []string{"dead"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	heir.SendChrome(t.Context())
	r.until("the card is sent", func() bool { return heir.Idle() })
	if diff := cmp.Diff([]posts.Posted{posted(here(), "card", 1004)}, r.known); diff != "" {
		t.Error(diff)
	}
}

// A tool asks first what became of its call, and what was begun is gone on with.
func TestAgain(t *testing.T) {
	r := newRoom(t)
	if said, found, err := r.office("one").Again(t.Context(), 7, "c1"); found || err != nil {
		t.Errorf("said %+v, %v, %v", said, found, err)
	}
	if _, err := r.office("dead").Say(t.Context(), 7, "c1", withOrigin("a|b", "")); err != nil {
		t.Fatal(err)
	}
	r.exec(`update attache.posts set state = case part when 0 then 'sent' else 'intent' end, done = null`)
	for range 2 {
		said, found, err := r.office("two").Again(t.Context(), 7, "c1")
		if err != nil || !found || said.Fate != attache.FateSent || said.Place != here() || !slices.Equal(said.Messages, []attache.MessageID{1001, 1003}) {
			t.Errorf("said %+v, %v, %v", said, found, err)
		}
		if diff := cmp.Diff(rating(), said.Origin); diff != "" {
			t.Error(diff)
		}
	}
	if got := r.m.Texts(t, 3); !slices.Equal(got, []string{"a", "b", "b"}) {
		t.Errorf("posts %q", got)
	}
	r.exec(`update attache.posts set bot = 'gone'`)
	if _, found, err := r.office("two").Again(t.Context(), 7, "c1"); err == nil || !found {
		t.Errorf("found %v, %v: what a bot said that is gone is not known", found, err)
	}
}

// A post and what it remembers are recorded together or not at all.
func TestAnOriginThatIsNotKept(t *testing.T) {
	r := newRoom(t)
	broken := errors.New("the table of origins is gone")
	r.posted = func() error { return broken }
	o := r.office("one")
	if _, err := o.Say(t.Context(), 7, "c1", withOrigin("a", "")); err == nil || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("error %v", err)
	}
	if got := r.states(); got != "sending" {
		t.Errorf("the post is %s: its record must be undone with that of its origin", got)
	}
}
