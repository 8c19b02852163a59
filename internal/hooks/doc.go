// Package hooks reads hooks: what wakes one, the role that works, where its run
// posts, and the prompt of it (interface § 3 "Hook").
//
// A [Hook] stands in a *.hook.md or among the `hooks` of a scenario's file. The
// second kind is a hook like any other, named after its scenario and its number
// there, such as triage#2; its reach is its scenario's (matrix B6), it has no gate,
// and its role is its scenario's unless it names one. Its body stays as written:
// what it names of an event is put in when it fires.
//
// This version reads hooks, and fires none.
package hooks
