// Package richtext makes an answer, which is Markdown, into what Telegram shows.
//
// An attache.Outgoing becomes attache.Parts (Compose): each is one Bot API call
// with its exact JSON, in one of three forms, the native rich message, text with
// entities, or plain text (decisions § 7.9). A part that Telegram does not take in
// its form can be said in a simpler one (Simpler), a part whose place is gone
// elsewhere (Retarget), and an answer that is still being written as a draft
// (Draft). Everything here is pure: the same input gives the same bytes.
//
// The text of an answer is counted in UTF-16 code units, as Telegram does: a
// text with its marks is one value from the parser to the cut, and a mark always
// lies within its text, on borders of characters, nested and never crossing.
package richtext
