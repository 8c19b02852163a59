package attache_test

import (
	"testing"

	"pgregory.net/rapid"

	"attache"
)

// A place has one spelling, and what is none is refused before any database sees it.
func TestParsePlace(t *testing.T) {
	for _, s := range []string{"nova/-1001/42", "no-va_2/5/0", "N/0/0", "nova/-9223372036854775808/9223372036854775807"} {
		if p, err := attache.ParsePlace(s); err != nil || p.String() != s {
			t.Errorf("%q is read as %s, %v", s, p, err)
		}
	}
	for _, s := range []string{"", "nova", "nova/5", "/5/0", "nova/5/0/0", "no\x00va/5/0", "no va/5/0", "_nova/5/0", "-/5/0", "növa/5/0", "nova\n/5/0",
		"nova/+5/0", "nova/-0/0", "nova/-01001/0", "nova/5/-1", "nova/5/00", "nova/0x5/0", "nova/5_0/0", "nova/9223372036854775808/0", "nova//0"} {
		if p, err := attache.ParsePlace(s); err == nil {
			t.Errorf("%q is read as %s", s, p)
		}
	}
}

func TestParseChat(t *testing.T) {
	for s, want := range map[string]attache.ChatID{"tg:chat:-1001": -1001, "-1001": -1001, "5": 5, "tg:chat:5": 5} {
		if got, err := attache.ParseChat(s); err != nil || got != want {
			t.Errorf("%q is read as %d, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0", "-0", "+1001", "tg:chat:+1001", "tg:chat:-01001", "tg:chat:", "tg:chat:tg:chat:5", " 5", "1e3", "0x5", "9223372036854775808", "tg:user:5"} {
		if got, err := attache.ParseChat(s); err == nil {
			t.Errorf("%q is read as %d", s, got)
		}
	}
}

func TestPlacesAreReadAsTheyAreWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := attache.Place{
			Bot:  attache.BotID(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_-]{0,8}`).Draw(t, "bot")),
			Chat: attache.ChatID(rapid.Int64().Draw(t, "chat")), Thread: attache.ThreadID(rapid.Int64Min(0).Draw(t, "thread")),
		}
		if got, err := attache.ParsePlace(p.String()); err != nil || got != p {
			t.Fatalf("%s is read as %s, %v", p, got, err)
		}
	})
}
