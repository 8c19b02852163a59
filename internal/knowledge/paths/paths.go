// Package paths reads the paths of a folder of documents as its documents write them.
//
// A path has forward slashes and counts from the workspace's root or from the folder
// of the document that names it. Everything here is text: nothing is looked up, so a
// path that leaves the folder is known before any file is touched. Documents are told
// from other files by their name alone, ids and ignore rules are compared in lower
// case and by whole segments.
package paths

import (
	"path"
	"slices"
	"strings"
)

// IsDocument tells documents from other files by their name.
func IsDocument(name string) bool { return strings.EqualFold(path.Ext(name), ".md") }

// ID is the id of a document that gives none: its path in lower case without .md.
func ID(at string) string { return strings.ToLower(strings.TrimSuffix(at, path.Ext(at))) }

// Absolute reports whether a reference is a path from the root of a disk, be it of
// Windows: a pack is the same pack wherever it is checked out.
func Absolute(ref string) bool {
	return strings.HasPrefix(ref, "/") || strings.HasPrefix(ref, `\`) || len(ref) > 1 && ref[1] == ':' && isLetter(ref[0])
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

// Climbs reports whether a clean path leaves the root that it counts from.
func Climbs(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }

// Ignored gives the rule by which a path is ignored, "" for none. A rule is a run of
// whole segments that may stand anywhere in the path, so that archive means the folder
// of that name and not archived; the document's id counts like its path.
func Ignored(rules []string, at string) string {
	for _, rule := range rules {
		if run := Segments(rule); len(run) > 0 {
			parts := Segments(at)
			if contains(parts, run) || IsDocument(at) && contains(Segments(ID(at)), run) {
				return rule
			}
		}
	}
	return ""
}

// Segments cuts a path into its parts, in lower case; none for the root itself.
func Segments(p string) []string {
	p = strings.Trim(strings.TrimSpace(strings.ToLower(p)), "/")
	for strings.HasPrefix(p, "./") {
		p = strings.TrimLeft(p[2:], "/")
	}
	if p == "" || p == "." {
		return nil
	}
	return strings.Split(p, "/")
}

// contains reports whether a run of segments stands somewhere in a path.
func contains(parts, run []string) bool {
	for i := 0; i+len(run) <= len(parts); i++ {
		if slices.Equal(parts[i:i+len(run)], run) {
			return true
		}
	}
	return false
}

// EndIn reports whether the last segments of a path are those of another one.
func EndIn(parts, end []string) bool {
	return len(end) <= len(parts) && slices.Equal(parts[len(parts)-len(end):], end)
}
