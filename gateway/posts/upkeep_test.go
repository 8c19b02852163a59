package posts_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"attache"
	"attache/gateway/posts"
	"attache/internal/store"
)

// put writes chrome down.
func (r *room) put(o *posts.Office, texts ...string) {
	r.t.Helper()
	err := r.db.InTx(r.t.Context(), func(tx store.Tx) error {
		for _, text := range texts {
			if err := o.PutChrome(r.t.Context(), tx, outgoing(text, attache.FormatEntities)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

// inherit has one process take over what others left.
func (r *room) inherit(o *posts.Office, dead ...string) (lost int) {
	r.t.Helper()
	var after func()
	err := r.db.InTx(r.t.Context(), func(tx store.Tx) (err error) {
		lost, after, err = o.Inherit(r.t.Context(), tx, dead)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	after()
	return lost
}

func (r *room) waits(executor string) (yes bool) {
	r.t.Helper()
	if err := r.db.Pool().QueryRow(r.t.Context(), `select `+posts.ChromeWaits, executor).Scan(&yes); err != nil {
		r.t.Fatal(err)
	}
	return yes
}

func TestChromeIsSentOnce(t *testing.T) {
	r := newRoom(t)
	r.m.Gate = make(chan struct{})
	r.m.Answers = []attache.Delivery{refused(attache.RefusalFormat)}
	o := r.office("one")
	if r.waits("one") {
		t.Error("chrome waits before any was written")
	}
	r.put(o, "Stopped.")
	if !r.waits("one") || r.waits("two") {
		t.Error("chrome does not wait for the process that wrote it")
	}
	for range 3 {
		o.SendChrome(t.Context())
	}
	if o.Idle() {
		t.Error("a piece on its way is no idleness")
	}
	close(r.m.Gate)
	r.until("it is sent", func() bool { return r.states() == "sent" && o.Idle() })
	if got := r.m.Texts(t, 1); !slices.Equal(got, []string{"Stopped."}) || r.waits("one") {
		t.Errorf("posts %q", got)
	}
	if got := r.text(`select format from attache.posts`); got != "plain" {
		t.Errorf("the record says %s", got)
	}
}

// What a dead process was about to say is said by a living one; what it was saying
// is of unknown fate and told once. Posts of turns follow their turns.
func TestChromeOfADeadProcess(t *testing.T) {
	r := newRoom(t)
	dead := r.office("dead")
	r.put(dead, "in the air", "waits")
	r.exec(`update attache.posts set state = 'sending' where text = 'in the air'`)
	r.exec(`insert into attache.posts (turn, bot, chat, thread, method, params, text, format, state, executor)
		values (7, 'nova', -9, 42, 'say', '{}', 'of a turn', '', 'sending', 'dead')`)
	r.put(r.office("living"), "another's")
	two := r.office("two")
	if lost := r.inherit(two, "dead"); lost != 1 {
		t.Errorf("%d calls are lost, want 1", lost)
	}
	if lost := r.inherit(two, "dead"); lost != 0 {
		t.Errorf("%d calls are lost the second time", lost)
	}
	two.SendChrome(t.Context())
	if got := r.m.Texts(t, 1); !slices.Equal(got, []string{"waits"}) {
		t.Errorf("posts %q", got)
	}
	r.until("everything has its fate", two.Idle)
	if got := r.text(`select string_agg(text || ' ' || state, ', ' order by id) from attache.posts`); got != "in the air unknown, waits sent, of a turn sending, another's intent" {
		t.Errorf("the record says %s", got)
	}
	if n := strings.Count(r.log.String(), "is unknown"); n != 1 {
		t.Errorf("the operator was told %d times:\n%s", n, &r.log)
	}
	if want := []attache.Fate{attache.FateUnknown, attache.FateSent}; !slices.Equal(r.fates, want) {
		t.Errorf("counted %v, want %v", r.fates, want)
	}
	found, all, err := posts.Troubled(t.Context(), r.db, time.Now().Add(-time.Hour))
	if err != nil || all != 1 || len(found) != 1 || found[0].Text != "in the air" || found[0].State != "unknown" || found[0].Why == "" {
		t.Errorf("troubles %+v, %v", found, err)
	}
}

// The call that waits names the old group in its own bytes, so it is made, refused
// and pointed to the new one; what was said before is the new group's history.
func TestAMigrationWhileAPostWaits(t *testing.T) {
	r := newRoom(t)
	o := r.office("one")
	if _, err := o.Say(t.Context(), 7, "c1", outgoing("before", "")); err != nil {
		t.Fatal(err)
	}
	r.put(o, "waits")
	o.Hold(t.Context(), attache.Hold{Bot: "nova", Chat: -9, Until: time.Now().Add(time.Hour)})
	move := attache.Migration{From: -9, To: -1009}
	if err := r.db.InTx(t.Context(), func(tx store.Tx) error { return o.Move(t.Context(), tx, "nova", move) }); err != nil {
		t.Fatal(err)
	}
	chats := func() string {
		return r.text(`select string_agg(concat_ws(' ', text, chat, state), ', ' order by id) from attache.posts`)
	}
	if got := chats(); got != "before -1009 sent, waits -9 intent" {
		t.Errorf("after the notice: %s", got)
	}
	if holds, err := o.Holds(t.Context(), "nova"); err != nil || len(holds) != 0 {
		t.Errorf("the old group's pauses %v, %v", holds, err)
	}
	r.m.Answers = []attache.Delivery{{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: -1009}}
	o.SendChrome(t.Context())
	if p := r.m.Wait(t, 2)[1]; p.Chat != -1009 || p.Thread != 42 || p.Text != "waits" {
		t.Errorf("post %+v", p)
	}
	r.until("it has its fate", o.Idle)
	if got := chats(); got != "before -1009 sent, waits -1009 sent" || !slices.Equal(r.moved, []attache.Migration{move}) {
		t.Errorf("after the call: %s, moves %v", got, r.moved)
	}
}

func TestHoldsAreKept(t *testing.T) {
	r := newRoom(t)
	ctx := t.Context()
	later := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	one := r.office("one")
	for _, h := range []attache.Hold{
		{Bot: "nova", Chat: 5, Until: later},
		{Bot: "nova", Chat: 5, Until: later.Add(-time.Minute)}, // an earlier answer that came late
		{Bot: "nova", Until: later},                            // the whole bot
		{Bot: "nova", Chat: 6, Until: time.Now().Add(-2 * time.Hour)},
		{Bot: "other", Chat: 5, Until: later},
	} {
		one.Hold(ctx, h)
	}
	holds, err := r.office("two").Holds(ctx, "nova")
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(holds, func(a, b attache.Hold) int { return int(a.Chat - b.Chat) })
	if len(holds) != 2 || holds[0].Chat != 0 || holds[1].Chat != 5 || !holds[1].Until.Equal(later) || holds[1].Bot != "nova" {
		t.Errorf("pauses %+v", holds)
	}
	if err := one.Forget(ctx, time.Hour); err != nil || r.text(`select count(*) from attache.holds`) != "3" {
		t.Errorf("%v; %s pauses are kept, want 3", err, r.text(`select count(*) from attache.holds`))
	}
}

func TestOldPostsAreForgotten(t *testing.T) {
	r := newRoom(t)
	o := r.office("one")
	if _, err := o.Say(t.Context(), 7, "c1", outgoing("old|new", "")); err != nil {
		t.Fatal(err)
	}
	r.put(o, "never sent", "waits")
	r.exec(`update attache.posts set at = now() - interval '2 days', done = done - interval '2 days' where text in ('old', 'never sent')`)
	r.exec(`update attache.posts set at = now() - interval '2 days' where text = 'new'`)
	if err := o.Forget(t.Context(), 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if got := r.text(`select string_agg(text, ',' order by id) from attache.posts`); got != "new,waits" {
		t.Errorf("left are %s", got)
	}
	kept, err := posts.OfTurn(t.Context(), r.db, 7)
	if err != nil || len(kept) != 1 || kept[0].Text != "new" || kept[0].State != "sent" || !slices.Equal(kept[0].Messages, []int64{1002}) || kept[0].Place != here() {
		t.Errorf("the turn's posts %+v, %v", kept, err)
	}
}
