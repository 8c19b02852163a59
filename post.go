package attache

import (
	"encoding/json"
	"time"
)

// Format says in which form an answer goes out (interface § 3, `format:`).
type Format string

// The forms of an answer (decisions § 7.9). FormatPlain is only a last resort and
// no setting: text without any formatting.
const (
	FormatAuto     Format = "auto"
	FormatRich     Format = "rich"
	FormatEntities Format = "entities"
	FormatPlain    Format = "plain"
)

// Outgoing is something to be said in a place, before it is cut into parts.
type Outgoing struct {
	Place    Place
	Markdown string
	ReplyTo  MessageID // 0: no reply; only the first part replies (decisions § 7.8)
	Format   Format
	Buttons  [][]Button // below the last part
	Origin   *Origin    // what its posts remember; nil: a reply to them links to nothing
	File     *Upload    // goes out with the first part, whose caption Markdown is; nil for none
}

// Upload is a file that goes out.
type Upload struct {
	Kind string // photo, voice or document: how it is shown, if Telegram takes it so
	Name string // a plain file name
	MIME string
	Says string // what stands for it where only text can, such as "[voice] Good morning"
	Data []byte
}

// Button is one button below a post: it opens a URL or sends Data back.
type Button struct {
	Text string `json:"text"`
	Data string `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Part is one call's worth of a post, ready to be sent and stored: a Bot API
// method with its parameters. Params are the exact JSON of the call.
type Part struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Text   string          `json:"text"`   // the part's plain text, for people and ledgers
	Format Format          `json:"format"` // the form it takes
	File   *Upload         `json:"-"`      // the file of the call; its parameter is named as the method, sendVoice: voice
}

// Fate is what became of a send (decisions § 7.5).
type Fate string

// The fates of a send. FateHeld means that Telegram certainly did not take it and
// asked for a pause or was out of reach: the same part may be sent again later.
const (
	FateSent    Fate = "sent"
	FateRefused Fate = "refused"
	FateUnknown Fate = "unknown"
	FateHeld    Fate = "held"
)

// Refusal says why Telegram refused a send, as far as code must decide by it.
type Refusal string

// The refusals that the gateway acts on; any other is RefusalOther.
const (
	RefusalFormat   Refusal = "format"   // the form is not taken: unknown method, rich text or entities refused
	RefusalThread   Refusal = "thread"   // the topic is gone or closed
	RefusalMigrated Refusal = "migrated" // the group has another number now
	RefusalRights   Refusal = "rights"   // blocked, kicked or without rights to write
	RefusalOther    Refusal = "other"
)

// Delivery is the outcome of one send, recorded from Telegram's own answer.
type Delivery struct {
	Fate     Fate
	Messages []MessageID   // what Telegram made of the part, when sent
	Thread   ThreadID      // the topic that Telegram reports, when sent
	Refusal  Refusal       // set when refused
	MovedTo  ChatID        // set with RefusalMigrated
	After    time.Duration // how long to wait before another try, when held
	Why      string        // one sentence for the operator; never holds a secret
}

// Hold is a pause that Telegram asked for by retry_after; it is kept over a
// restart (decisions § 7.4).
type Hold struct {
	Bot   BotID
	Chat  ChatID // 0: the whole bot
	Until time.Time
}
