package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"attache"
	"attache/internal/brain"
	"attache/internal/model"
	"attache/internal/telegram"
)

// one makes a brain of access.yaml and MANIFEST.yaml with the roles desk and home.
func one(t *testing.T, access, manifest string) *brain.Brain {
	t.Helper()
	home := "---\ncontexts: []\n---\nYou are at home.\n"
	if strings.Contains(manifest, "big:") {
		home = "---\ncontexts: []\nmodel: big\n---\nYou are at home.\n"
	}
	b, problems := load(t, unpack(t, []txtar.File{
		{Name: "constitution/access.yaml", Data: []byte(access)}, {Name: "constitution/MANIFEST.yaml", Data: []byte(manifest)},
		{Name: "features/a/desk.agent.md", Data: []byte("---\ncontexts: []\n---\nYou are the desk.\n")},
		{Name: "features/a/home.agent.md", Data: []byte(home)},
		{Name: "features/a/daily.heartbeat.md", Data: []byte("---\ncron: \"0 9 * * *\"\nagent: desk\n---\nLook.\n")},
	}))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return b
}

const models = "models:\n  default: { model: small, baseUrl: '%[1]s', apiKey: k }\n  big: { model: big, baseUrl: '%[1]s', apiKey: env:BIG_KEY }\n"

const twoRules = "bots: { nova: { dm: { role: desk, people: everyone }, default: { role: home, people: everyone } } }\n"

// The server of each model is asked for its list, which costs nothing; no key is told.
func TestModelServers(t *testing.T) {
	var answer http.HandlerFunc
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	b := one(t, "bots: { nova: { dm: { role: home, people: everyone } } }\n", fmt.Sprintf(models, server.URL))
	says := func(s Subject) string { return lines(s.models(t.Context())) }
	s := Subject{Brain: b, Getenv: func(string) string { return "s3cr3t" }, Catalog: func(ctx context.Context, p model.Profile) (Catalog, error) {
		return AskCatalog(ctx, server.Client(), p)
	}}
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	for _, c := range []struct {
		answer http.HandlerFunc
		want   string
	}{
		{status(401, ""), "fail  Models  constitution/MANIFEST.yaml:3:1: " + server.URL + " refuses the key of the model big (401); set BIG_KEY to a key that it takes\n"},
		{status(404, "no list here"), ""},
		{status(503, ""), "warn  Models  constitution/MANIFEST.yaml:3:1: " + server.URL + ", the server of the model big, answers 503; look at it again in a while; turns fall back to other models meanwhile\n"},
		{status(200, `{"data":[{"id":"bigg"},{"id":"other"}]}`), "does not list the model big of the entry big; did you mean bigg?\n"},
		{status(200, `{"data":[{"id":"big"}]}`), ""},
		{status(200, `nonsense`), ""},
		{func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cr3t" {
				t.Error("the key was not sent")
			}
			http.NotFound(w, r)
		}, ""},
	} {
		answer = c.answer
		got := says(s)
		if !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "s3cr3t") {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if asked[0] != "GET /models" || len(asked) != 7 {
		t.Error(asked) // the entry that no role with a rule uses is not asked
	}
	server.Close()
	if got := says(s); !strings.Contains(got, "could not be asked: ") || strings.Count(got, server.URL) != 1 {
		t.Error(got)
	}
	s.Getenv, s.Brain = nothing, one(t, twoRules, "models: { big: { model: big, apiKey: env:BIG_KEY } }\n")
	want := "warn  Models  the role desk cannot answer: there is no model to ask: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, or add a default to models in constitution/MANIFEST.yaml; then start it again\n" +
		"warn  Models  the role home cannot answer: the model big of constitution/MANIFEST.yaml: BIG_KEY is not set; set it to the key of OpenAI, or give a baseUrl; then start it again\n"
	if got := says(s); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	s.Brain = one(t, twoRules, "name: x\n")
	if got := says(s); !strings.HasPrefix(got, "warn  Models  the roles desk and home cannot answer: ") || strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
}

// A prompt that is too short for a server's cache is noted where that costs money.
func TestPromptsTooShortForACache(t *testing.T) {
	says := func(base string) string {
		s := Subject{Brain: one(t, twoRules, fmt.Sprintf(models, base)), Getenv: func(string) string { return "k" }}
		s.Catalog = func(context.Context, model.Profile) (Catalog, error) { return Catalog{Status: 200}, nil }
		return lines(s.models(t.Context()))
	}
	want := "note  Models  features/a/desk.agent.md:1:1: the static prompt of the roles desk and home is shorter than 1024 tokens (its tools not counted), and servers keep nothing shorter in their cache; "
	if got := says("https://models.example.org/v1"); !strings.HasPrefix(got, want) || strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
	for _, base := range []string{"http://127.0.0.1:11434/v1", "http://localhost/v1", "http://[::1]:80"} {
		if got := says(base); got != "" {
			t.Error(got)
		}
	}
}

// fake is a Bot API that says what it is told to.
type fake struct {
	me   error
	hook webhook
	err  error
}

func (f fake) Me(context.Context) (telegram.Me, error) {
	return telegram.Me{Username: "nova_bot", CanReadAll: true}, f.me
}

func (f fake) Call(_ context.Context, method string, _, result any) error {
	if method != "getWebhookInfo" {
		return errors.New("the doctor may only look, and calls " + method)
	}
	*result.(*webhook) = f.hook
	return f.err
}

func TestTelegramOfABot(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := Subject{Brain: one(t, twoRules, "name: x\n"), Now: func() time.Time { return now }}
	const hook = "https://bot.example.org/telegram/nova"
	for _, c := range []struct {
		bot  Bot
		api  fake
		want string
	}{
		{Bot{}, fake{}, ""},
		{Bot{Webhook: hook}, fake{hook: webhook{URL: hook}}, ""},
		{Bot{Variable: "TOKEN"}, fake{me: &telegram.CallError{Code: 401}}, "fail  Telegram  Telegram does not know the token of bot nova; copy it anew from @BotFather into TOKEN\n"},
		{Bot{}, fake{me: &telegram.CallError{Code: 404, Foreign: true}}, "warn  Telegram  Telegram could not be asked about bot nova: "},
		{Bot{}, fake{err: errors.New("gone")}, "warn  Telegram  Telegram could not be asked about the webhook of bot nova: gone"},
		{Bot{}, fake{hook: webhook{URL: "https://elsewhere.org/secret"}}, "warn  Telegram  a webhook of bot nova is set at https://elsewhere.org, and Telegram lets nobody poll meanwhile"},
		{Bot{Webhook: hook}, fake{}, "note  Telegram  no webhook of bot nova is set"},
		{Bot{Webhook: hook}, fake{hook: webhook{URL: "https://elsewhere.org/x"}}, "warn  Telegram  Telegram brings the updates of bot nova to https://elsewhere.org and not to https://bot.example.org"},
		{Bot{Webhook: hook}, fake{hook: webhook{URL: hook, Error: "Wrong response: 502", ErrorDate: now.Add(-time.Minute).Unix()}}, "warn  Telegram  Telegram could not deliver to bot nova at 2026-11-30T11:59:00Z: Wrong response: 502"},
		{Bot{Webhook: hook}, fake{hook: webhook{URL: hook, Error: "old", ErrorDate: now.Add(-2 * time.Hour).Unix()}}, ""},
		{Bot{}, fake{hook: webhook{Pending: 101}}, "warn  Telegram  101 updates of bot nova wait at Telegram"},
		{Bot{Trouble: "another instance polls"}, fake{}, "warn  Telegram  the bot nova does not receive: another instance polls\n"},
	} {
		c.bot.ID, c.bot.Client = "nova", c.api
		got := lines(s.bot(t.Context(), c.bot))
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "secret") || strings.Count(got, "\n") > 1 {
			t.Errorf("%+v %+v:\ngot  %s\nwant %s", c.bot, c.api, got, c.want)
		}
	}
}

func TestClocks(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		off, took time.Duration
		want      string
	}{
		{0, 0, ""}, {4 * time.Second, 0, ""}, {-4 * time.Second, 0, ""}, {6 * time.Second, 4 * time.Second, ""},
		{30 * time.Second, 0, "warn  Clock  the clock here is 30s behind the database's; "},
		{-time.Hour, 0, "warn  Clock  the clock here is 1h0m0s ahead of the database's; "},
	} {
		got := lines(apart("the database's", now.Add(c.off), now.Add(-c.took/2), now.Add(c.took/2)))
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s off: %q, want %q", c.off, got, c.want)
		}
	}
	server := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusFound))
	t.Cleanup(server.Close)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	s := Subject{Now: func() time.Time { return time.Now().Add(time.Minute) }, Date: func(ctx context.Context) (time.Time, error) { return DateOf(ctx, client, server.URL) }}
	if got := lines(s.telegramClock(t.Context())); !strings.Contains(got, "ahead of Telegram's") {
		t.Error(got)
	}
	s.Now = time.Now
	if got := lines(s.telegramClock(t.Context())); got != "" {
		t.Error(got)
	}
}

func TestDiskAndSecrets(t *testing.T) {
	free := uint64(5 << 20)
	s := Subject{Folder: "brain/.attache", Free: func() (uint64, error) { return free, nil }, Secrets: []SecretFile{
		{"OPENAI_API_KEY_FILE", "/run/key", 0o600}, {"DATABASE_URL_FILE", "/run/group", 0o640}, {"TELEGRAM_BOT_TOKEN_FILE", "/run/token", 0o644},
	}}
	want := "warn  Disk  5 MiB are free where brain/.attache lies; make room: when it is full nothing is taken in any more\n" +
		"warn  Secrets  everybody on this machine may read or change /run/token, which TELEGRAM_BOT_TOKEN_FILE names; run: chmod 600 /run/token\n"
	if got := lines(s.machine()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Secrets, free = nil, lowDisk
	if got := lines(s.machine()); got != "" {
		t.Error(got)
	}
}

// Turns that failed, hang or wait, fires that were refused, and groups that have
// another number now.
//
// row L6 (doctor names the line that has the old number)
func TestRecords(t *testing.T) {
	db := records(t)
	b := one(t, `bots:
  nova:
    chats:
      "tg:chat:-11":
        role: desk
        people: everyone
        threads: { "4": { engage: all } }
      "tg:chat:-12": { role: desk, people: everyone }
      "tg:chat:-100012": { role: desk, people: everyone }
`, "models: { default: { model: echo } }\n")
	if _, err := db.Pool().Exec(t.Context(), `
		insert into attache.turns (bot, chat, thread, state, due, opened, started, ended, why) values
			('nova', -11, 0, 'failed', now(), now(), now(), now() - interval '2 days', 'the model is away'),
			('nova', -12, 0, 'failed', now(), now(), now(), '2026-01-01', 'long ago'),
			('nova', -12, 0, 'failed', now(), now(), now(), now() - interval '1 day', 'the model is away'),
			('nova', -13, 0, 'failed', now(), now(), now(), now() - interval '3 days', 'another reason'),
			('nova', -14, 0, 'running', now(), now(), now() - interval '1 hour', null, ''),
			('nova', -15, 0, 'running', now(), now(), now() - interval '1 minute', null, ''),
			('nova', -16, 0, 'waiting', now() - interval '1 day', now() - interval '1 day', null, null, '');
		insert into attache.chat_aliases (bot, old_chat, new_chat) values ('nova', -11, -100011), ('nova', -12, -100012);
		insert into attache.fires (kind, entity, slot, state, why) values
			('heartbeat', 'daily', '2026-11-29T09:00:00Z', 'refused', 'earlier'), ('heartbeat', 'daily', '2026-11-30T09:00:00Z', 'refused', 'film is keyed by film id'),
			('heartbeat', 'gone', '2026-11-30T09:00:00Z', 'refused', 'of a beat that is no more')`); err != nil {
		t.Fatal(err)
	}
	found := Examine(t.Context(), Subject{Brain: b, Now: time.Now, Getenv: nothing, DB: db})
	got := lines(found)
	for _, want := range []string{
		"warn  Chat access  constitution/access.yaml:4:1: the group tg:chat:-11 became a supergroup and is tg:chat:-100011 now; this line names the old number; write 'tg:chat:-100011' in its place; until then its rule holds under the old number\n",
		"warn  Chat access  constitution/access.yaml:8:1: the group tg:chat:-12 became a supergroup and is tg:chat:-100012 now; this line names the old number; take it out: the new number has a rule of its own, which holds\n",
		"warn  Turns  2 turns failed within a week for one reason, the newest was turn 3 in nova/-12/0 at ",
		"the model is away; `attache turns 3` has its input and its calls\n",
		"warn  Turns  turn 4 in nova/-13/0 failed at ",
		"warn  Turns  turn 5 in nova/-14/0 runs since ",
		"warn  Turns  a turn in nova/-16/0 waits since ",
		"warn  Heartbeats  features/a/daily.heartbeat.md:1:1: the last fire of daily, of the slot 2026-11-30T09:00:00Z, was refused: film is keyed by film id; mend what it says; the next slot fires as usual\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %s", want)
		}
	}
	if strings.Count(got, "\n") != 7 || t.Failed() {
		t.Errorf("it says\n%s", got)
	}
	if here := OfPlace(found, attache.Place{Bot: "nova", Chat: -14}); len(here) != 1 || here[0].Check != "Turns" {
		t.Error(here)
	}
}

// What was edited since the program began and waits for its next start is noted.
func TestRestart(t *testing.T) {
	began := one(t, twoRules, "name: x\n")
	now := one(t, strings.Replace(twoRules, "nova", "vega", 1), "name: x\nmodels:\n  default: { model: m, baseUrl: 'http://x' }\nmcp: { files: { command: [x] } }\n")
	want := `note  Restart  constitution/MANIFEST.yaml:2:1: models were changed since the program began, and that is read at its start only; start it again
note  Restart  constitution/MANIFEST.yaml:4:1: mcp was changed since the program began, and that is read at its start only; start it again
note  Restart  constitution/access.yaml:1:1: bots were added or removed since the program began, and that is read at its start only; start it again
`
	if got := lines(Restart(began, now)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := Restart(nil, now); got != nil || Restart(now, one(t, strings.Replace(twoRules, "nova", "vega", 1), "name: x\nmodels:\n  default: { model: m, baseUrl: 'http://x' }\nmcp: { files: { command: [x] } }\n")) != nil {
		t.Error(got)
	}
}

// Rules that need every message, of a bot that hears only what is said to it.
func TestPrivacy(t *testing.T) {
	b := one(t, "bots: { nova: { dm: { role: desk, people: everyone, engage: all }, default: { role: home, people: everyone, engage: all } } }\n", "name: x\n")
	found := Privacy(b, "nova", telegram.Me{Username: "nova_bot"})
	if len(found) != 1 || found[0].Line != 1 || !strings.Contains(found[0].What, "@nova_bot") {
		t.Error(lines(found))
	}
	if Privacy(b, "nova", telegram.Me{CanReadAll: true}) != nil || Privacy(b, attache.BotID("vega"), telegram.Me{}) != nil {
		t.Error("it finds what is not there")
	}
}
