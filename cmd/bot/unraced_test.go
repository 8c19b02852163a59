//go:build !race

package main

// raced says that the race detector watches, which makes everything slow.
const raced = false
