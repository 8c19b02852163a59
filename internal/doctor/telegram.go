package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"attache"
	"attache/access"
	"attache/engage"
	"attache/internal/brain"
	"attache/internal/telegram"
)

// Bot is one bot of the brain, as it is asked about.
type Bot struct {
	ID       attache.BotID
	Client   Telegram
	Variable string // that its token is read from
	Webhook  string // address that Telegram is to bring updates to; "" with long polling
	Trouble  string // what the running program meets when it receives, one sentence; "" for nothing
}

// Telegram is the Bot API as one bot, such as *telegram.Client.
type Telegram interface {
	Me(ctx context.Context) (telegram.Me, error)
	Call(ctx context.Context, method string, params, result any) error
}

// bot asks Telegram about a bot's token and its webhook, and compares what Telegram
// delivers to it with what its rules need.
func (s Subject) bot(ctx context.Context, b Bot) []Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out []Finding
	if b.Trouble != "" {
		out = append(out, Finding{Level: Warn, Check: "Telegram", What: fmt.Sprintf("the bot %s does not receive: %s", b.ID, b.Trouble)})
	}
	me, err := b.Client.Me(ctx)
	if err != nil {
		return append(out, tokenTrouble(b, err))
	}
	out = append(out, Privacy(s.Brain, b.ID, me)...)
	var hook webhook
	if err := b.Client.Call(ctx, "getWebhookInfo", nil, &hook); err != nil {
		return append(out, Finding{Level: Warn, Check: "Telegram", What: fmt.Sprintf("Telegram could not be asked about the webhook of bot %s: %s", b.ID, err), Do: "ask again in a moment"})
	}
	return append(out, hook.judge(b, s.Now())...)
}

// tokenTrouble says why Telegram did not tell who a bot is.
func tokenTrouble(b Bot, err error) Finding {
	var call *telegram.CallError
	if errors.As(err, &call) && !call.Foreign && (call.Code == 401 || call.Code == 404) {
		return Finding{Level: Fail, Check: "Telegram", What: "Telegram does not know the token of bot " + string(b.ID), Do: "copy it anew from @BotFather into " + b.Variable}
	}
	return Finding{Level: Warn, Check: "Telegram", What: fmt.Sprintf("Telegram could not be asked about bot %s: %s", b.ID, err), Do: "check the network, or TELEGRAM_API_URL"}
}

// webhook is what Telegram tells of a bot's webhook.
type webhook struct {
	URL       string `json:"url"`
	Pending   int    `json:"pending_update_count"`
	ErrorDate int64  `json:"last_error_date"`
	Error     string `json:"last_error_message"`
}

// The bounds over which a webhook is in trouble.
const (
	manyPending = 100
	recentError = time.Hour
)

// judge compares how updates come with how they should.
func (w webhook) judge(b Bot, now time.Time) []Finding {
	var out []Finding
	add := func(level Level, what, do string) {
		out = append(out, Finding{Level: level, Check: "Telegram", What: what, Do: do})
	}
	switch {
	case w.URL != "" && b.Webhook == "":
		add(Warn, fmt.Sprintf("a webhook of bot %s is set at %s, and Telegram lets nobody poll meanwhile", b.ID, host(w.URL)),
			"`attache run` takes it away when it starts; if another program set it, end that one, or set ATTACHE_PUBLIC_URL to receive by webhook")
	case w.URL == "" && b.Webhook != "":
		add(Note, fmt.Sprintf("no webhook of bot %s is set, so nothing is delivered now", b.ID), "`attache run` sets it when it starts")
	case w.URL != b.Webhook:
		add(Warn, fmt.Sprintf("Telegram brings the updates of bot %s to %s and not to %s", b.ID, host(w.URL), host(b.Webhook)),
			"`attache run` sets it anew when it starts; end another program that uses this bot, or mend ATTACHE_PUBLIC_URL")
	}
	if w.URL != "" && w.Error != "" && now.Sub(time.Unix(w.ErrorDate, 0)) < recentError {
		add(Warn, fmt.Sprintf("Telegram could not deliver to bot %s at %s: %s", b.ID, time.Unix(w.ErrorDate, 0).UTC().Format(time.RFC3339), short(w.Error)),
			"see that the address reaches this program, over HTTPS and with a certificate that Telegram trusts")
	}
	if w.Pending > manyPending {
		add(Warn, fmt.Sprintf("%d updates of bot %s wait at Telegram", w.Pending, b.ID), "run the bot; Telegram keeps them for 24 hours")
	}
	return out
}

// host gives an address without its path, which may be a secret of somebody's.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address of its own"
	}
	return u.Scheme + "://" + u.Host
}

// Privacy finds rules that need what Telegram does not deliver to a bot in privacy
// mode: messages of a group that are neither commands, mentions nor replies.
func Privacy(b *brain.Brain, bot attache.BotID, me telegram.Me) []Finding {
	var found []Finding
	for _, r := range b.Policy.Rulings() {
		group := r.Chat < 0 || r.Kind == access.KindDefault
		if r.Bot != bot || me.CanReadAll || !group || !engage.NeedsEverything(r.Engage, r.Observe) {
			continue
		}
		found = append(found, Finding{Level: Warn, Check: "Telegram", Chat: r.Chat,
			What: fmt.Sprintf("this rule needs every message of its group, and Telegram delivers only mentions, replies and commands to @%s", me.Username),
			Do:   "turn privacy mode off with /setprivacy at @BotFather and add the bot to the group anew, or choose engage: addressed without observe"}.at(r.File, r.Line, 1))
	}
	return found
}

// skew is how far two clocks may be apart.
const skew = 5 * time.Second

// telegramClock compares the clock with Telegram's.
func (s Subject) telegramClock(ctx context.Context) []Finding {
	if s.Date == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	before := s.Now()
	date, err := s.Date(ctx)
	if err != nil {
		return nil // that Telegram is out of reach is told where its bots are asked
	}
	// The header has whole seconds, and was written between the two moments.
	return apart("Telegram's", date.Add(500*time.Millisecond), before, s.Now())
}

// apart finds a clock that differs from ours, which showed before and after while
// the other one was read.
func apart(whose string, other, before, after time.Time) []Finding {
	ours := before.Add(after.Sub(before) / 2)
	diff := ours.Sub(other)
	word := "ahead of"
	if diff < 0 {
		word, diff = "behind", -diff
	}
	if diff <= skew+after.Sub(before)/2 {
		return nil
	}
	return []Finding{{Level: Warn, Check: "Clock", What: fmt.Sprintf("the clock here is %s %s %s", diff.Round(time.Second), word, whose),
		Do: "let the machine keep time by NTP; beats fire, and approvals and pauses end, by the clock"}}
}

// DateOf gives the time that an HTTP server puts on its answers.
func DateOf(ctx context.Context, client *http.Client, address string) (time.Time, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, address, nil)
	if err != nil {
		return time.Time{}, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return time.Time{}, err
	}
	defer resp.Body.Close()
	return http.ParseTime(resp.Header.Get("Date"))
}
