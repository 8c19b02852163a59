package main

import (
	"context"
	"fmt"

	"attache/internal/cliagent/claude"
)

// adapterCommand speaks the CLI agent protocol for a program that does not speak it
// itself. A role names it as its command (docs/cli-agents.md); nobody types it.
type adapterCommand struct {
	Agent   string   `arg:"" placeholder:"AGENT" help:"The program to speak for: claude."`
	Args    []string `arg:"" optional:"" placeholder:"ARG" help:"Arguments for it, behind --."`
	Program string   `placeholder:"FILE" help:"Where it is, if not in PATH under its own name."`
}

func (c *adapterCommand) Run(ctx context.Context, io stdio) error {
	if c.Agent != "claude" {
		return misused("there is no adapter for %q; the only one is claude", c.Agent)
	}
	if err := claude.Run(ctx, io.in, io.out, claude.Options{Program: c.Program, Args: c.Args, Err: io.err}); err != nil {
		return fmt.Errorf("the adapter for claude ended: %w", err)
	}
	return nil
}
