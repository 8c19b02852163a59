package reading

import (
	"strings"
	"testing"
	"time"
)

// Tokens are those of o200k, whatever the text is made of; no text takes long.
func TestTokens(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "hello world": 2, "# Tokens\n": 3, "<|endoftext|>": 7, "\n \n \n": 3,
	} {
		if got := count(text); got != want {
			t.Errorf("%q has %d tokens, want %d", text, got, want)
		}
	}
	start := time.Now()
	for _, unit := range []string{"\n ", "\t", "a", "漢", "!\n", "\u00a0\n"} {
		if count(strings.Repeat(unit, 200_000/len(unit))) == 0 {
			t.Errorf("%q many times has no tokens", unit)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

// Slices of long white space are a token off at most at each cut.
func TestTokensOfBlanks(t *testing.T) {
	short := strings.Repeat(" \n", longestBlank/2-1)
	if a, b := count(short+"x"), count(short+"x"+short+"x"); b < 2*a-2 || b > 2*a+2 {
		t.Errorf("%d and twice that is %d", a, b)
	}
}
