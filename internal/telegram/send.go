package telegram

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"attache"
)

// How long a part that Telegram certainly did not take is held.
const (
	firstBackoff = time.Second     // out of reach, or the token unknown, for the first time; doubled each time
	lastBackoff  = time.Minute     // and no longer than this
	floodPause   = 5 * time.Second // a 429 that names no time
)

// SenderOptions says through which client a bot sends, and how.
type SenderOptions struct {
	Client *Client            // whose bot is named in holds, and whose log is used
	Pace   bool               // keep Telegram's pace; false (telegram.pace: off) obeys 429 only
	OnHold func(attache.Hold) // told of each pause that Telegram asked for, to be kept; may be nil
}

// Sender sends the parts of one bot. Its gate says when (Clear or Ready), Deliver
// makes one call and says what became of it. It repeats nothing: who stores the
// parts does, by their fate. It is safe for concurrent use.
type Sender struct {
	bot    attache.BotID
	client *Client
	onHold func(attache.Hold)
	log    *slog.Logger
	gate   *gate
	typing typists

	mu       sync.Mutex
	failures int // in a row, without any answer
}

// NewSender makes a sender; nothing is sent before the first Deliver or Typing.
func NewSender(o SenderOptions) *Sender {
	return &Sender{
		bot: o.Client.bot, client: o.Client, onHold: o.OnHold, log: o.Client.log,
		gate: newGate(o.Pace), typing: typists{chats: map[attache.ChatID]*typist{}},
	}
}

// Restore takes up the pauses that were in force when the process ended; those
// that are over do nothing. Chat 0 means the whole bot.
func (s *Sender) Restore(holds []attache.Hold) {
	for _, h := range holds {
		if h.Bot == s.bot {
			s.gate.silence(h.Chat, h.Until)
		}
	}
}

// Clear waits until a call to the chat may begin and takes that turn: first come,
// first served within an urgency of a chat, more urgent first between them, and a
// chat on hold keeps no other waiting (decisions § 7.4). It fails only with the
// error of ctx; then no turn is taken. UrgencyTyping counts as UrgencyEdit here.
func (s *Sender) Clear(ctx context.Context, chat attache.ChatID, u Urgency) error {
	return s.gate.clear(ctx, chat, u)
}

// Ready takes the turn if it is free at this moment, so that a part can be marked
// as being sent in the transaction that stores it. When it says no, nothing is
// taken and Clear is the way.
func (s *Sender) Ready(chat attache.ChatID, u Urgency) bool {
	return s.gate.ready(chat, u)
}

// Deliver makes the call of one part whose turn has come and says what became of
// it (decisions § 7.5). A part whose reply target is gone for good is sent once
// more without it, as it was certainly refused (decisions § 7.8). A pause that
// Telegram asked for is put on the chat before Deliver returns.
func (s *Sender) Deliver(ctx context.Context, part attache.Part) attache.Delivery {
	var result json.RawMessage
	call := func(params json.RawMessage) error {
		if part.File != nil {
			return s.client.Upload(ctx, part.Method, params, *part.File, &result)
		}
		return s.client.Call(ctx, part.Method, params, &result)
	}
	err := call(part.Params)
	if bare, ok := withoutReply(part.Params, err); ok {
		err = call(bare)
	}
	s.note(part.Method, err)
	if err == nil {
		return sent(result)
	}
	e, ok := errors.AsType[*CallError](err)
	if !ok {
		return attache.Delivery{Fate: attache.FateUnknown, Why: err.Error()}
	}
	d := judge(part.Method, e)
	if d.Fate == attache.FateHeld {
		d.After = cmp.Or(d.After, s.backoff())
	}
	if e.Code == 429 {
		s.pause(part.Params, d.After)
	}
	return d
}

// note counts the calls in a row that got no answer of the Bot API, or the answer
// that it does not know the bot.
func (s *Sender) note(method string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := errors.AsType[*CallError](err); ok && (e.Code == 0 || e.Code >= 500 || e.Foreign || tokenUnknown(method, e)) {
		s.failures++
		return
	}
	s.failures = 0
}

// tokenUnknown reports whether Telegram does not know the bot that called. 404 is
// its answer to what does not even look like a token, but also to a method that an
// older server lacks.
func tokenUnknown(method string, e *CallError) bool {
	return !e.Foreign && (e.Code == 401 || e.Code == 404 && method != "sendRichMessage" && !mentions(e.Description, "method"))
}

// backoff grows with the failures in a row: 1, 2, 4, … 60 s.
func (s *Sender) backoff() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(firstBackoff<<min(max(s.failures-1, 0), 10), lastBackoff)
}

// pause holds the chat of a call back and has it kept.
func (s *Sender) pause(params json.RawMessage, after time.Duration) {
	var to struct {
		Chat attache.ChatID `json:"chat_id"`
	}
	if err := json.Unmarshal(params, &to); err != nil || to.Chat == 0 {
		return
	}
	hold := attache.Hold{Bot: s.bot, Chat: to.Chat, Until: time.Now().Add(after)}
	s.gate.silence(hold.Chat, hold.Until)
	s.log.Info("telegram asked for a pause", "bot", s.bot, "chat", int64(hold.Chat), "ms", after.Milliseconds())
	if s.onHold != nil {
		s.onHold(hold)
	}
}

// withoutReply gives the parameters of a refused call without their reply, when
// the reply is why it was refused. allow_sending_without_reply covers a deleted
// message, but not one in another topic.
func withoutReply(params json.RawMessage, err error) (json.RawMessage, bool) {
	e, ok := errors.AsType[*CallError](err)
	if !ok || !e.Certain || e.Code != 400 || !mentions(e.Description, replyGone) {
		return nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(params, &fields) != nil || fields["reply_parameters"] == nil {
		return nil, false
	}
	delete(fields, "reply_parameters")
	bare, err := json.Marshal(fields)
	return bare, err == nil
}

// sent reads what Telegram made of a part: a message, several, or just true.
func sent(result json.RawMessage) attache.Delivery {
	type message struct {
		ID      attache.MessageID `json:"message_id"`
		Thread  attache.ThreadID  `json:"message_thread_id"`
		IsTopic bool              `json:"is_topic_message"`
	}
	d := attache.Delivery{Fate: attache.FateSent}
	var several []message
	var one message
	if json.Unmarshal(result, &several) != nil && json.Unmarshal(result, &one) == nil {
		several = []message{one}
	}
	for _, m := range several {
		if m.ID != 0 {
			d.Messages = append(d.Messages, m.ID)
		}
		if m.IsTopic && m.Thread != generalThread {
			d.Thread = m.Thread
		}
	}
	return d
}

// What Telegram's descriptions say, in lower case, apart by bars. They are words
// for people and no stable codes, so each is matched by the least that tells it
// apart.
const (
	replyGone   = "message to be replied not found|reply message not found|replied message not found|message to reply not found"
	threadGone  = "thread not found|topic_closed|topic_deleted|topic_id_invalid|topic is closed|chat is not a forum"
	noRights    = "not enough rights|have no rights|no rights to|administrator rights|chat_admin_required|_forbidden|chat_restricted|bot was kicked|bot was blocked|bot is not a member|user is deactivated"
	formRefused = "can't parse|entit|rich|unsupported|markdown"
	notTheForm  = "chat not found|user not found|button|reply markup|inline keyboard|peer_id_invalid|chat_id_invalid"
)

// mentions reports whether a description has one of the words.
func mentions(description, words string) bool {
	description = strings.ToLower(description)
	for w := range strings.SplitSeq(words, "|") {
		if strings.Contains(description, w) {
			return true
		}
	}
	return false
}

// judge says what became of a call that did not succeed.
func judge(method string, e *CallError) attache.Delivery {
	why := e.Error()
	switch {
	case !e.Certain:
		return attache.Delivery{Fate: attache.FateUnknown, Why: why}
	case e.Code == 429:
		return attache.Delivery{Fate: attache.FateHeld, After: cmp.Or(e.RetryAfter, floodPause), Why: why}
	case e.Code == 0, e.Code >= 500, e.Foreign:
		return attache.Delivery{Fate: attache.FateHeld, Why: why}
	case tokenUnknown(method, e):
		return attache.Delivery{Fate: attache.FateHeld, Why: "Telegram does not know this bot's token; put a valid one in place: " + why}
	case e.MigrateTo != 0:
		return attache.Delivery{Fate: attache.FateRefused, Refusal: attache.RefusalMigrated, MovedTo: e.MigrateTo, Why: why}
	case e.Code == 400 && mentions(e.Description, "message is not modified"):
		return attache.Delivery{Fate: attache.FateSent, Why: why}
	}
	return attache.Delivery{Fate: attache.FateRefused, Refusal: refusal(method, e), Why: why}
}

// refusal sorts what Telegram refuses for good. Any 400 to a rich message or to a
// picture that is clearly about nothing else counts as the form's, since a simpler
// form may pass and a refused call posted nothing.
func refusal(method string, e *CallError) attache.Refusal {
	switch {
	case e.Code == 403, mentions(e.Description, noRights):
		return attache.RefusalRights
	case mentions(e.Description, threadGone):
		return attache.RefusalThread
	case e.Code == 404:
		return attache.RefusalFormat
	case e.Code == 400 && mentions(e.Description, notTheForm):
		return attache.RefusalOther
	case e.Code == 400 && (method == "sendRichMessage" || method == "sendPhoto" || mentions(e.Description, formRefused)):
		return attache.RefusalFormat
	}
	return attache.RefusalOther
}
