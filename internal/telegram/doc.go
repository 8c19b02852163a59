// Package telegram speaks with Telegram for one bot: a Client makes its calls, a
// Sender says when each may begin and what became of it. With its two folders it
// is the only place that knows Telegram's shapes:
//
//   - richtext makes an answer into parts, purely
//   - updates receives: poller, webhook, and what an update says
//
// What is sent is an attache.Part: one Bot API call with its exact JSON, so that
// it can be stored before it is sent and sent again byte for byte. A Sender takes
// a part when its turn has come (Clear or Ready: one gate a bot, decisions § 7.4),
// makes the call, and answers with an attache.Delivery: sent, refused, held or
// unknown. Nothing here repeats a call by itself; who stores the parts decides
// that from the fate.
//
// Two kinds of call are never stored, since they are worth nothing a moment later:
// Typing and Draft. They go when the gate has room at once, and never make a part
// wait.
package telegram
