// Package demo is the small Telegram of `attache demo`, and what a person sees of it.
//
// The data is a [World]: a simulator, five people, and the chats for which
// brain-example has rules. It is spoken in at a terminal (Talk) or in the browser
// (Serve), where each answer shows the turn behind it. The program that answers runs
// beside it and knows nothing of either: it talks to the simulator as to Telegram. So
// what a page tells of a turn is read from the [Records] that a real bot leaves too.
//
// It lies beside the wiring because it joins what may not know each other: the
// simulator, the page, and the records of several owners.
package demo
