// Package contexts decides what a turn carries of the features it is linked to,
// and writes it: context files, reach, links, holds, budgets and the tail.
//
// A [Library] is every *.context.md of a brain that loads, with its knobs resolved.
// [Library.Choose] takes one turn as plain values and gives a [Choice]: which
// contexts the turn has a link to, in the order in which they are kept, and why
// each other link came to nothing. The choice says what it needs from outside (rows
// of views, documents, sections that code renders); [Choice.Render] fits what it is
// given into the budgets and gives the [Tail], whose bytes the model reads and whose
// manifest goes to the ledger. [Library.Open] does the same for the one context that
// an agent asks for.
//
// Nothing here reads a clock, a database or a file: equal values give equal bytes,
// and a dry run is the run itself. Nothing disappears either: a link is attached, a
// stub with the knob to raise, or refused with a reason. What the model reads of
// ours stands in text/words.txt; everything a file, a row or a person brings is
// escaped, so that it can neither open nor close a block (decisions § 5).
package contexts
