// Package example is the brain that `attache demo` runs: a lesson in files, read
// best from constitution/access.yaml on. The files are the content of this folder;
// Go only carries them in the binary.
package example

import "embed"

// Files is the whole brain, as it stands in this folder.
//
//go:embed blocks constitution features knowledge
var Files embed.FS
