package explain

import (
	"attache"
	"attache/access"
	"attache/engage"
	"attache/gateway/aliases"
	"attache/gateway/ledger"
	"attache/origins"
)

// stand notes the rule of the place, what it is bound to, and what it holds a bot to.
// A run without a place has none of it. kind is Telegram's word for the chat.
func (d *dryRun) stand(x *Answer, kind string) ([]attache.Binding, error) {
	if d.place.Chat == 0 {
		return nil, nil
	}
	ruled, err := d.ruled()
	if err != nil {
		return nil, err
	}
	x.ruling = d.Brain.Policy.For(ruled, kind)
	if x.ruling.File != "" {
		x.Rule = &Spot{x.ruling.File, x.ruling.Line}
	}
	bindings := d.bound(ruled)
	d.pin = attache.NewPin(d.place.Bot, bindings).Keyed(d.Brain.Contexts.Keyed)
	d.pin.Unread = d.unread
	x.hold(d.pin)
	return bindings, nil
}

// ruled gives the place whose rules hold. Where a group became a supergroup the file
// may still name the old number (decisions § 3.8).
func (d *dryRun) ruled() (attache.Place, error) {
	at := d.place
	if at.Chat.Private() || d.Brain.Policy.Mentions(at.Chat) || d.Records.DB == nil {
		return at, nil
	}
	old, ok, err := aliases.Former(d.ctx, d.Records.DB, at.Bot, at.Chat)
	if err != nil && !unmade(err) {
		return at, err
	}
	if ok && d.Brain.Policy.Mentions(old) {
		d.note("%s was the group %s before, whose rule holds on until the file names the new number", at.Chat, old)
		at.Chat = old
	}
	return at, nil
}

// bound gives what the place is bound to: by the file, under the number that it
// names, and by tools. When those of tools cannot be read, no key can be trusted
// (decisions § 3.6); a database that was never made has none.
func (d *dryRun) bound(ruled attache.Place) []attache.Binding {
	var out []attache.Binding
	for _, x := range d.Brain.Policy.Bindings(ruled.Chat, ruled.Thread) {
		out = append(out, attache.Binding{Context: x.Context, Key: x.Key, Static: true, Thread: x.Thread, Bots: x.Bots})
	}
	if d.Records.DB == nil {
		d.unread = !d.Records.None
		return out
	}
	// A bot that has not heard of its group's new number is held by what stands there.
	numbers, err := aliases.Numbers(d.ctx, d.Records.DB, d.place.Chat)
	var ties []attache.Binding
	if err == nil || unmade(err) {
		places := []attache.Place{d.place}
		for _, chat := range numbers[min(1, len(numbers)):] {
			places = append(places, attache.Place{Bot: d.place.Bot, Chat: chat, Thread: d.place.Thread})
		}
		ties, err = access.Look(d.Records.DB).At(d.ctx, places...)
	}
	if err != nil && !unmade(err) {
		d.unread = true
		d.note("what tools bound here cannot be read: %v", err)
	}
	return append(out, ties...)
}

// reply gives what the message replies to: a post of the bot if the records say so.
// brings is what its origin brings back.
func (d *dryRun) reply(to attache.MessageID, self engage.Self) (of *attache.Reply, brings attache.Reach, err error) {
	if to == 0 {
		return nil, nil, nil
	}
	out := &attache.Reply{ID: to, From: attache.Person{ID: "tg:user:0"}}
	if d.Records.DB == nil {
		d.note("message %d counts as somebody else's and links to nothing: whose it is and what it was about stands in the records", to)
		return out, nil, nil
	}
	text, ours, err := ledger.Post(d.ctx, d.Records.DB, d.place.Bot, d.place.Chat, to)
	if err != nil && !unmade(err) {
		return nil, nil, err
	}
	records, err := origins.Look(d.Records.DB).Of(d.ctx, d.place.Bot, d.place.Chat, []attache.MessageID{to})
	if err != nil && !unmade(err) {
		return nil, nil, err
	}
	reach, why := origins.FromReply(records, to, d.Brain.Frame.Manifest.MessageOrigins.RetentionDays)
	record, known := records[to] // kept for longer than posts are
	switch {
	case !ours && !known:
		d.note("message %d is no post of %s here, so it counts as somebody else's and links to nothing", to, d.place.Bot)
		return out, nil, nil
	case why != "":
		d.note("the reply links to nothing: %s", why)
	case len(reach) == 0:
		d.note("the reply links to nothing: message %d was posted about nothing", to)
	}
	out.From, out.Text = attache.Person{ID: self.User, IsBot: true}, text
	if record.Origin.Run != "" && len(reach) > 0 {
		d.note("message %d was posted by %s", to, record.Origin.Run)
	}
	return out, reach, nil
}
