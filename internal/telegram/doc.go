// Package telegram is the only place that knows Telegram's shapes.
//
// Incoming, an attache.RawUpdate is stored by an Inbox before anything else: a
// Poller confirms it to Telegram only then, a Webhook answers 200 only then
// (decisions § 7.1). Its JSON is mended so that the database always takes it; its
// meaning is read later, by Decode, each update alone.
//
// Incoming, an update is kept as the JSON that arrived before Telegram is told so
// (poll.go, webhook.go), and each is decoded alone into an attache.Update
// (decode.go), whose Message stands in its Place.
//
// Outgoing, three values follow each other. An attache.Outgoing (Markdown for a
// place) is composed, purely, into attache.Parts: each is one Bot API call with
// its exact JSON, so it can be stored before it is sent and sent again byte for
// byte. A Sender takes a part when its turn has come (Clear or Ready: one gate a
// bot, decisions § 7.4), makes the call, and answers with an attache.Delivery:
// sent, refused, held or unknown. Nothing here repeats a call by itself; who
// stores the parts decides that from the fate.
//
// The text of an answer is counted in UTF-16 code units, as Telegram does: a
// text with its marks is one value from the parser to the cut, and a mark always
// lies within its text, on borders of characters, nested and never crossing.
package telegram
