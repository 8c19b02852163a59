// Package heartbeat reads beats, knows their slots and fires each slot once.
//
// A [Beat] is a *.heartbeat.md: a schedule, the role that works, the place where it
// posts, and the prompt of its runs (interface § 3 "Heartbeat"). A slot is one minute
// of its schedule, as an instant. Which minutes those are is a pure question
// ([Beat.Next]): the cron is read on the wall clock of the beat's zone, so a minute
// that the spring change leaves out comes at the first minute after the gap, one
// that the autumn change repeats comes once, and what lies outside of hours is no
// slot at all.
//
// A [Runner] is one timer a process. It keeps two tables. In attache.beats stands,
// for each beat that runs, up to which instant its slots are dealt with; every
// decision about a beat is made under the lock of that row, so any number of
// replicas and restarts fire a slot once. In attache.fires stands each slot that
// was taken, with what became of it; the claim and the turn that it begins are one
// transaction, so neither can be there without the other.
//
// What was missed while nobody ran is made up as the beat's catchUp says. A beat
// that is seen for the first time, or again after it was off, has missed nothing;
// and a slot that an edit made out of a minute that had passed is none.
package heartbeat
