package model

import (
	"strings"
	"testing"
)

// What a person can do is said where waiting does not help, and only there.
func TestAdviceIsForWhatDoesNotPass(t *testing.T) {
	for status, want := range map[int]string{401: "apiKey", 403: "apiKey", 404: "baseUrl", 400: "", 429: "", 500: ""} {
		if got := advice(status); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%d: %q", status, got)
		}
	}
}
