// Package origins decides what a post remembers of why it was sent, and what a reply
// to it brings back.
//
// A [Send] is one thing about to be said, as plain values; [ForSend] gives its
// origin, or the refusal that its sender reads, exactly by the table of decisions
// § 2. An origin is decided once and stored with each message of the post as a
// [Record], found again by bot, chat and number alone and never by text. [FromReply]
// gives the reach that a reply to such a message links to. Whether an entry of it
// attaches (its `when`, the role that answers, the pin of then) is judged anew by
// the turn that answers.
//
// The pin of a place is asked before an origin is made, so the table holds no key
// that the place may not see. The table, attache.message_origins, belongs to
// [Store]. The age of a record is the database's to tell, for processes have clocks
// of their own.
package origins
