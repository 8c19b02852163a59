// Package access reads access.yaml: who is let in where, which role answers there,
// when it does, and which entity a chat is about.
//
// A [Policy] is the file as a value. For a place it gives a [Ruling]: the rule that
// holds there with its file and line, everything that the rule and what it inherits
// say, and why. Nobody is let in who is not named, and no chat is answered that has
// no rule (decisions § 6.1, § 6.2). A mistake silences exactly the rule it stands
// in, so that a slip never widens anything; what could be read of that rule's
// bindings still pins the chat, so that a slip never unpins anything either.
//
// What agents bind at run time is a [Tie], a row of attache.bindings behind [Store]; no
// binding of the file is ever copied there. A [Binder] holds the rules of a moment
// against the ties and says which may be made, and which of all bindings holds a place.
//
// The package decides about plain values. What a message says is engage's business,
// what a binding attaches is contexts'.
package access
