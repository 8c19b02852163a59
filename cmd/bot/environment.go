package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"attache"
)

// secretEnv reads a secret from the environment variable name, or from the file
// that NAME_FILE names (interface § 2).
func secretEnv(name string) (attache.Secret, error) {
	if v := os.Getenv(name); v != "" {
		return attache.NewSecret(strings.TrimSpace(v)), nil
	}
	file := os.Getenv(name + "_FILE")
	if file == "" {
		return attache.Secret{}, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return attache.Secret{}, fmt.Errorf("%s_FILE names a file that cannot be read: %w; mend the path or the file's rights", name, err)
	}
	s := strings.TrimSpace(string(text))
	if s == "" {
		return attache.Secret{}, fmt.Errorf("%s_FILE names %s, which is empty; write the secret into it", name, file)
	}
	return attache.NewSecret(s), nil
}

const tokenPrefix = "TELEGRAM_BOT_TOKEN"

// tokenVariable names the environment variable of a bot's token (interface § 2).
func tokenVariable(bot attache.BotID) string {
	return tokenPrefix + "_" + strings.ToUpper(strings.ReplaceAll(string(bot), "-", "_"))
}

// variableOf names the variable that a bot's token was read from: what to mend.
func variableOf(bot attache.BotID) string {
	own := tokenVariable(bot)
	for _, name := range []string{own, tokenPrefix} {
		for _, name := range []string{name, name + "_FILE"} {
			if os.Getenv(name) != "" {
				return name
			}
		}
	}
	return own
}

// tokens gives the token of each bot of the brain, and for a brain that names no
// bots one for every variable TELEGRAM_BOT_TOKEN_<BOT> there is. The plain
// TELEGRAM_BOT_TOKEN serves a single bot.
func tokens(bots []attache.BotID) (map[attache.BotID]attache.Secret, error) {
	if len(bots) == 0 {
		bots = botsOfEnvironment()
	}
	found := map[attache.BotID]attache.Secret{}
	var missing []string
	for _, bot := range bots {
		t, err := secretEnv(tokenVariable(bot))
		if err == nil && t.Empty() && len(bots) == 1 {
			t, err = secretEnv(tokenPrefix)
		}
		if err != nil {
			return nil, err
		}
		if t.Empty() {
			missing = append(missing, tokenVariable(bot))
			continue
		}
		if !tokenLooksRight(t.Reveal()) {
			return nil, fmt.Errorf("the token of bot %s does not look like one (123456:ABC…); copy it from @BotFather into %s", bot, variableOf(bot))
		}
		found[bot] = t
	}
	if len(missing) > 0 {
		set := strings.Join(missing, " and ")
		if len(bots) == 1 {
			set = tokenPrefix + " (or " + set + ")"
		}
		return nil, fmt.Errorf("no token for %s: set %s to what @BotFather gave you, or try `attache demo`, which needs none", theBots(len(missing)), set)
	}
	return found, nil
}

func theBots(n int) string {
	if n == 1 {
		return "a bot of this brain"
	}
	return fmt.Sprintf("%d bots of this brain", n)
}

// botsOfEnvironment names the bots that have a token in the environment.
func botsOfEnvironment() []attache.BotID {
	seen := map[attache.BotID]bool{}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		rest, ok := strings.CutPrefix(strings.TrimSuffix(name, "_FILE"), tokenPrefix+"_")
		if ok && rest != "" && rest != "FILE" {
			seen[attache.BotID(strings.ToLower(strings.ReplaceAll(rest, "_", "-")))] = true
		}
	}
	bots := make([]attache.BotID, 0, len(seen))
	for b := range seen {
		bots = append(bots, b)
	}
	sort.Slice(bots, func(i, j int) bool { return bots[i] < bots[j] })
	if len(bots) == 0 {
		return []attache.BotID{"bot"}
	}
	return bots
}

// tokenLooksRight tells a token from a slip of the hand: digits, a colon, letters.
func tokenLooksRight(s string) bool {
	id, rest, ok := strings.Cut(s, ":")
	return ok && id != "" && strings.Trim(id, "0123456789") == "" && len(rest) >= 5 && !strings.ContainsAny(rest, " \t\r\n/")
}

// lookup reads an environment variable, or the file that NAME_FILE names.
func lookup(name string) string {
	s, err := secretEnv(name)
	if err != nil {
		return ""
	}
	return s.Reveal()
}

// adminToken gives the operator's token: the one of ATTACHE_ADMIN_TOKEN, or one made
// now, which is said once (interface § 2).
func adminToken(say func(string)) (attache.Secret, error) {
	token, err := secretEnv("ATTACHE_ADMIN_TOKEN")
	if err != nil || !token.Empty() {
		return token, err
	}
	made := rand.Text()
	say("the pages and /metrics want this token (set ATTACHE_ADMIN_TOKEN to choose your own): " + made)
	return attache.NewSecret(made), nil
}

// ownAlone reports whether a variable of the environment is this program's alone: its
// tokens, the database, and all of its settings. An agent gets everything else, since
// it needs a home, a path and keys of its own.
func ownAlone(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	return slices.ContainsFunc([]string{tokenPrefix, "TELEGRAM_API_", "ATTACHE_", "DATABASE_URL", "PG"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// secretValues gives the values of an environment that no log may show: agents print
// what they were given when they fail.
func secretValues(env []string) (values []string) {
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD"}, func(word string) bool { return strings.Contains(name, word) }) {
			values = append(values, value)
		}
	}
	return values
}
