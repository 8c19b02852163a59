// Package engage says whether a message is for the bot, and when a burst of
// messages has ended.
//
// [Decide] is a pure function from a rule's plain values and one message to one of
// three things: answer it, keep it as a line of the room that rides along before
// the next input, or ignore it. The reason comes with the verdict. It never looks
// at anything else, so the dry run says what the live bot would do.
//
// A person writes into ranges that Telegram marks: a mention, a command, a piece of
// code. Their offsets count UTF-16 units, and a mark that does not fit the text is
// passed by. Only marks make a mention; a name is looked for as a whole word of
// what the person wrote in plain text.
package engage
