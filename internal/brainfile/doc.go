// Package brainfile reads the text files of a brain as strictly as a compiler
// reads source: every mistake with its line and column, all of them at once, and
// the nearest right name beside a wrong one.
//
// Three things live here. A [Tree] is every text file of a brain as it stood at
// one moment: read through one door that no symlink leads out of, never changed
// afterwards, and cheap to take again because a file whose stamp did not move is
// carried over together with what was made of it ([Once]). A [Node] is a value in
// a YAML text that still knows its line and column; [Node.Decode] fills a struct
// from it and says everything that is wrong. [Watch] tells when to look again.
//
// Values are taken as they are written. YAML would make eight of 010, a thousand
// of 1_000 and a date of 2026-01-01; here a text is the text that stands there,
// and a number is plain digits or a mistake. Anchors, aliases and tags are
// refused: the engine edits these files line by line, and an alias would let one
// edit change two rules.
package brainfile
