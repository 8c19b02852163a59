package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"attache/internal/doctor"
	"attache/internal/model/modeltest"
	"attache/internal/telegramsim"
)

// doctored runs `attache doctor` on a brain, with this stage's Telegram and database
// and the given further words.
func (s *stage) doctored(dir string, words ...string) (code int, out string) {
	s.t.Helper()
	s.t.Setenv("TELEGRAM_BOT_TOKEN_NOVA", s.bot.Token)
	all := append([]string{"doctor", "--telegram-api-url", s.url, "--brain", dir, "--data", s.t.TempDir()}, words...)
	if !strings.Contains(strings.Join(words, " "), "--database-url") {
		all = append(all, "--database-url", s.dsn)
	}
	code, out, errs := attacheCommand(all...)
	if strings.Contains(out+errs, s.bot.Token) {
		s.t.Error("the token of the bot is told")
	}
	return code, out
}

// The example of this repository has nothing for the doctor to say.
func TestTheDoctorOnTheExample(t *testing.T) {
	s := newStage(t)
	t.Setenv("OPENAI_API_KEY", "a-key")
	t.Setenv("OPENAI_BASE_URL", modeltest.New(t).URL)
	if code, out := s.doctored("../../brain-example"); code != 0 || out != "all is well\n" {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// viewBrain names a view that its schema.sql does not define.
func viewBrain(t *testing.T) string {
	dir := agencyBrain(t)
	write(t, dir, "features/home/house.context.md", "---\nwhen: [always]\ndata: [home_list, home_lits]\n---\n")
	write(t, dir, "features/home/schema.sql", "create table if not exists home_list (item text);\n")
	return dir
}

// The view checks look at the schema of the brain in a database of DATABASE_URL, or in
// the private one that is started for it, which is empty; out of reach they say that
// they did not look, and that is no failure.
//
// rows H7 (a view that does not exist), H11
func TestTheDoctorAndTheDatabase(t *testing.T) {
	s := newStage(t)
	t.Setenv("OPENAI_API_KEY", "a-key")
	t.Setenv("OPENAI_BASE_URL", modeltest.New(t).URL)
	t.Setenv("DATABASE_URL", "")
	const missing = "warn  Feature contexts  features/home/house.context.md:3:19: the view home_lits does not exist; did you mean home_list?\n"
	dir := viewBrain(t)
	if code, out := s.doctored(dir); code != 0 || out != missing {
		t.Errorf("one's own database: exit code %d\n%s", code, out)
	}
	t.Run("private", func(t *testing.T) {
		if code, out, _ := attacheCommand("doctor", "--telegram-api-url", s.url, "--brain", dir); code != 0 || out != missing {
			t.Errorf("exit code %d\n%s", code, out)
		}
	})
	code, out := s.doctored(dir, "--database-url", "postgres://nobody:hidden@127.0.0.1:1/none")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 2 || strings.Contains(out, "hidden") ||
		!strings.HasPrefix(lines[0], "skipped  Feature contexts  the views that contexts and roles name, and their columns, were not looked at") || !strings.HasPrefix(lines[1], "skipped  Database  ") {
		t.Errorf("out of reach: exit code %d\n%s", code, out)
	}
}

// What Telegram and the model's server say, as JSON.
func TestTheDoctorAndServers(t *testing.T) {
	s := newStage(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) }))
	t.Cleanup(server.Close)
	t.Setenv("OPENAI_API_KEY", "a-wrong-key")
	t.Setenv("OPENAI_BASE_URL", server.URL)
	secret := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(secret, []byte(s.dsn), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DATABASE_URL_FILE", secret)
	setHook(t, s, "https://elsewhere.example/secret-path")
	dir := agencyBrain(t)
	write(t, dir, "features/home/house.context.md", "---\nwhen: [always]\n---\n")
	code, out := s.doctored(dir, "--json")
	var got struct {
		OK       bool
		Findings []doctor.Finding
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err, out)
	}
	var said strings.Builder
	for _, f := range got.Findings {
		said.WriteString(f.String() + "\n")
	}
	want := []string{
		"fail  Models  " + server.URL + " refuses the key of the model default (401); set OPENAI_API_KEY to a key that it takes",
		"warn  Telegram  a webhook of bot nova is set at https://elsewhere.example, and Telegram lets nobody poll meanwhile; `attache run` takes it away when it starts; if another program set it, end that one, or set ATTACHE_PUBLIC_URL to receive by webhook",
		"warn  Secrets  everybody on this machine may read or change " + secret + ", which DATABASE_URL_FILE names; run: chmod 600 " + secret,
	}
	if code != 1 || got.OK || said.String() != strings.Join(want, "\n")+"\n" || strings.Contains(out, "a-wrong-key") {
		t.Errorf("exit code %d, ok %v\n%s", code, got.OK, said.String())
	}
}

// setHook sets a webhook as another program would.
func setHook(t *testing.T, s *stage, address string) {
	t.Helper()
	resp, err := http.Post(s.url+"/bot"+s.bot.Token+"/setWebhook", "application/json", strings.NewReader(`{"url":"`+address+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
}

// A running program tells an owner what its bot meets, from Telegram too, and what was
// edited and waits for a restart.
func TestTheDoctorOfARunningProgram(t *testing.T) {
	s := newStage(t)
	dir := brainFiles(t, map[string]string{
		"constitution/MANIFEST.yaml": "name: x\ntelegram: { pace: off }\nmodels: { default: { model: echo } }\n",
		"constitution/access.yaml":   "owners: [\"tg:user:5\"]\nbots: { nova: { merge: 50ms, dm: { role: r, people: everyone } } }\n",
		"features/a/FEATURE.md":      "---\ndescription: A.\n---\n",
		"features/a/r.agent.md":      "---\ncontexts: []\n---\nYou are r.\n",
	})
	s.start("--brain", dir)
	dm := s.sim.DM(s.ann, s.bot)
	dm.Say(s.ann, "/doctor")
	if got := s.await(dm, 1)[0]; got != "All is well." {
		t.Errorf("it says %q", got)
	}
	write(t, dir, "features/a/schema.sql", "create table if not exists a_list (item text);\n")
	s.logged("the brain was read again")
	s.sim.Break(telegramsim.Fault{Kind: telegramsim.Unknown, Method: "getWebhookInfo", Times: 1})
	dm.Say(s.ann, "/doctor")
	got := s.await(dm, 2)[1]
	if !strings.Contains(got, "warn  Telegram  Telegram could not be asked about the webhook of bot nova") ||
		!strings.Contains(got, "note  Restart  features/a/schema.sql:1:1: it was changed since the program began") || strings.Count(got, "\n\n") != 1 {
		t.Errorf("it says %q", got)
	}
}
