// Package example is the brain that `attache demo` runs: a lesson in files. The
// files are the content of this folder; Go only carries them in the binary.
package example

import "embed"

// Files is the whole brain, as it stands in this folder.
//
//go:embed constitution features
var Files embed.FS
