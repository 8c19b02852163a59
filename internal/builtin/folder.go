package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

	"attache"
)

// Folder names the folder of a place's files, below that of all: nova/-1001/42 and,
// where the place is held to a key, nova/-1001/42.acme-0f3a61c25e9b7d84. What was
// written under one key is no file of the place under another (decisions § 3.14), and
// neither folder is below the other. It is "" while nobody knows what the place is
// held to.
func Folder(at attache.Place, pin attache.Pin) string {
	held := pin.String()
	switch {
	case pin.Unread:
		return ""
	case held == "":
		return at.String()
	}
	sum := sha256.Sum256([]byte(held))
	return at.String() + "." + readable(pin) + hex.EncodeToString(sum[:8])
}

// plainKey is a key that is fit for a folder's name on every system.
var plainKey = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$`)

// readable tells people which key a folder is of, if it can be told in a name: the
// digits behind it tell folders apart.
func readable(pin attache.Pin) string {
	if len(pin.Bound) != 1 {
		return ""
	}
	for _, key := range pin.Bound {
		if plainKey.MatchString(string(key)) {
			return string(key) + "-"
		}
	}
	return ""
}
