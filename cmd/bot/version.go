package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCommand struct{}

// Run prints what this binary was built from.
func (versionCommand) Run(io stdio) error {
	version, commit := "unreleased", "unknown commit"
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = cmp.Or(s.Value, commit)
			}
		}
	}
	fmt.Fprintf(io.out, "attache %s, %s, %s %s/%s\n", version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
