// Package scenario reads scenarios: the task, the role that works on it, and what
// starts it: a command, an event, or a person (interface § 3 "Scenario").
//
// A [Scenario] is one *.scenario.md. With a *.pipeline.ts beside it that code is what
// runs; without one it is one run of its role with the body as input. Hooks that
// stand in its file are handed on as they are written to package hooks, which reads
// every hook; a mistake in one of them is a mistake of this file, and keeps all of it
// from loading. A command starts one scenario: of two that claim it neither is
// started by it.
//
// This version reads scenarios, and runs none.
package scenario
