// Package prompt writes everything that a model reads, as pure code over plain
// values: no file, no clock, no database.
//
// A request is a list of messages whose front never changes (decisions § 4). In
// order of how long their bytes live:
//
//   - an Epoch, the static prompt of a role: texts of ours, the brain's
//     principles and role with their selectors put in, and what the role may
//     know by name. Equal inputs give equal bytes and so an equal id;
//   - a session snapshot, made when a session begins and sent as those bytes
//     until it ends;
//   - for each turn its snapshot and its input, made once, stored before the
//     first call, and replayed ever after;
//   - the tail, which is made elsewhere and belongs to one turn only.
//
// Assemble puts them in order, so that two consecutive turns share every byte up
// to the end of the earlier one's input.
//
// A selector is a dotted name in double braces in a text of the brain. A Library
// holds what selectors of static texts may name: arguments, blocks, packages and
// knowledge packs. Each block is read and rendered once, when the library is
// built, and never again for a role: what a block says cannot depend on who asks.
// Bodies of beats, hooks and scenarios have selectors of their own (RenderBody).
// A value is put in as it is and never read for selectors again.
//
// Who may write what: texts of the brain's author are instructions and stand as
// they are. Everything a person, a row or a document brings is escaped and stands
// in an element, so that it can neither open nor close a block (decisions § 5).
package prompt
