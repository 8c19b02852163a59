// Package entity knows what the files of a feature's entities have in common: who
// works, where a run posts, which contexts it reaches, what wakes it, and whether
// the brain around it lets it run (interface § 3).
//
// A [Sheet] is one mapping of keys in the making: the values that are read from it,
// where its keys stand, and every mistake so far. A [Frame] is the brain around,
// as plain values: with it a file that is right by itself is judged for what it
// refers to. An [On] is one thing that wakes a hook or a scenario.
package entity
