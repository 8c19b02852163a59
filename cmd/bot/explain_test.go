package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/txtar"

	"attache/cmd/bot/explain"
	"attache/internal/model/modeltest"
	"attache/internal/telegramsim"
)

// typed finds the command line in the comment of an archive; a text stands in single
// quotes.
var typed = regexp.MustCompile(`(?m)^\$ attache (.*)$`)

// nextSlot is what depends on the day.
var nextSlot = regexp.MustCompile(`its next slot is \S+`)

func typedWords(line string) (out []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// Each archive of testdata/explain is a question about one message, a small brain,
// the command line, and the answer in full. Run with -update to write the answers
// anew, and read the difference.
//
// row N6
func TestExplainAnswers(t *testing.T) {
	for _, name := range []string{"TELEGRAM_BOT_TOKEN", "DATABASE_URL", "ATTACHE_DATA"} {
		t.Setenv(name, "")
	}
	paths, err := filepath.Glob("testdata/explain/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d questions: %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			line := typed.FindSubmatch(a.Comment)
			if err != nil || line == nil {
				t.Fatalf("no command line: %v", err)
			}
			files, last := map[string]string{}, len(a.Files)-1
			for _, f := range a.Files[:last] {
				files[f.Name] = string(f.Data)
			}
			dir := brainFiles(t, files)
			code, out, errs := attacheCommand(append(typedWords(string(line[1])), "--brain", dir)...)
			out = nextSlot.ReplaceAllString(out, "its next slot is <time>")
			if code != 0 || errs != "" {
				t.Fatalf("exit code %d: %s", code, errs)
			}
			if *update {
				a.Files[last].Data = []byte(out)
				if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(a.Files[last].Data), out); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
			left, err := os.ReadDir(dir)
			if err != nil || slices.ContainsFunc(left, func(e os.DirEntry) bool { return e.Name() == ".attache" }) {
				t.Errorf("a dry run made a data folder: %v", err)
			}
		})
	}
}

// What is wrong with a command line is said with what to type.
func TestExplainMistakes(t *testing.T) {
	t.Setenv("DATABASE_URL", "")
	dir := brainFiles(t, map[string]string{
		"constitution/access.yaml": "bots:\n  nova:\n    dm: { role: desk, people: everyone }\n  zoe:\n    dm: { role: desk, people: everyone }\n",
		"features/desk/FEATURE.md": "---\ndescription: Desk.\n---\n", "features/desk/desk.agent.md": "---\ndescription: Answers.\n---\nYou answer.\n",
	})
	wrong := brainFiles(t, map[string]string{"constitution/MANIFEST.yaml": "nmae: X\nlimits: 5\n", "constitution/access.yaml": "bots: {}\n"})
	for _, c := range []struct{ args, say string }{
		{"--chat 5 --brain " + dir + " hello", "the brain has 2 bots [nova zoe]; choose one with --bot"},
		{"--bot nova --chat family --brain " + dir + " hello", "tg:chat:<number>"},
		{"--bot nova --chat 5 --from ann --brain " + dir + " hello", "tg:user:<number>"},
		{"--bot nova --chat 5 --from 0 --brain " + dir + " hello", "tg:user:<number>"},
		{"--bot nova --brain " + dir + " hello", "--chat"},
		{"--bot nova --chat 5 --brain " + dir, "<text> is missing"},
		{"--run daily --brain " + dir, "heartbeat:ID"},
		{"--run heartbeat: --brain " + dir, "heartbeat:ID"},
		{"--run beat:daily --brain " + dir, "heartbeat:ID"},
		{"--chat 5 --brain " + filepath.Join(dir, "nowhere") + " hello", "--brain"},
		{"--chat 5 --brain " + wrong + " hello", "MANIFEST.yaml"},
	} {
		if code, out, errs := attacheCommand(append([]string{"explain"}, strings.Fields(c.args)...)...); code != 2 || out != "" || !strings.Contains(errs, c.say) {
			t.Errorf("%s ends with %d and says %s%s, want %q", c.args, code, out, errs, c.say)
		}
	}
	if got := joined([]string{"turns", "--chat", "-1001", "--json", "--", "--chat", "-5"}); !slices.Equal(got, []string{"turns", "--chat=-1001", "--json", "--", "--chat", "-5"}) {
		t.Errorf("joined gives %q", got)
	}
}

// rows counts what is in a database: every table's rows, roles, and who may read what.
func rows(t *testing.T, conn *pgx.Conn) map[string]int {
	t.Helper()
	tables, err := conn.Query(t.Context(), `select format('%I.%I', schemaname, tablename) from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(tables, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{"roles": count(t, conn, `select count(*) from pg_roles`), "grants": count(t, conn, `select count(*) from information_schema.role_table_grants`)}
	for _, name := range names {
		if !strings.HasSuffix(name, ".executors") { // it beats by itself
			out[name] = count(t, conn, `select count(*) from `+name)
		}
	}
	return out
}

// explained runs `attache explain --json` and reads what it prints.
func explained(t *testing.T, args ...string) (x explain.Answer) {
	t.Helper()
	code, out, errs := attacheCommand(append([]string{"explain", "--json"}, args...)...)
	if err := json.Unmarshal([]byte(out), &x); err != nil || code != 0 {
		t.Fatalf("explain %q ends with %d, %v: %s%s", args, code, err, out, errs)
	}
	return x
}

// Beside a running program explain foresees what the next turn carries, byte for
// byte: rows of views, and what an earlier turn opened. It calls no model, sends
// nothing and writes nothing.
//
// row N6
func TestExplainForeseesTheNextTurn(t *testing.T) {
	s := newStage(t)
	dir := agencyBrain(t)
	for name, text := range map[string]string{
		"features/home/schema.sql":          "create table if not exists home_items (what text); create or replace view home_shopping as select what from home_items;\n",
		"features/home/shopping.context.md": "---\nwhen: [always]\ndata: [{ view: home_shopping }]\n---\nBuy nothing else.\n",
		"features/home/helper.agent.md":     "---\ndescription: Helps.\ncontexts: [house, returns, shopping]\ncapabilities: [context:read]\n---\nYou help.\n",
		"features/home/leap.heartbeat.md":   "---\ncron: 0 0 29 2 *\nagent: helper\nplace: { chat: 5 }\n---\nIs it a leap year?\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := s.startMind(dir,
		modeltest.Rule{Tool: "context_open", Answer: modeltest.Text("With the receipt.")},
		modeltest.Rule{Text: "return", Answer: modeltest.Use("context_open", `{"name":"returns"}`)},
		modeltest.Rule{Answer: modeltest.Text("ok")})
	dm := s.sim.DM(s.ann, s.bot)
	conn := connect(t, s.dsn)
	dm.Say(s.ann, "how do I return it")
	s.await(dm, 1)
	until(t, s.log, "the turn ended", func() bool { return count(t, conn, `select count(*) from attache.turns where ended is null`) == 0 })
	if _, err := conn.Exec(t.Context(), `insert into home_items values ('milk')`); err != nil {
		t.Fatal(err)
	}

	before, asked, calls := rows(t, conn), len(m.Requests()), len(s.sim.Calls(telegramsim.Filter{Method: "sendMessage"}))
	at := []string{"--brain", dir, "--database-url", s.dsn, "--telegram-api-url", s.url}
	x := explained(t, append(at, "--chat", "5", "and then")...)
	if len(x.Links) != 3 || x.Links[0].Context != "returns" || x.Links[0].Link != "ask" || !strings.Contains(x.Links[0].Why, "turn 1") || !strings.Contains(x.Tail, "milk") {
		t.Errorf("it foresees %+v\n%s", x.Links, x.Tail)
	}
	if y := explained(t, append(at, "--chat", "6", "and then")...); len(y.Links) != 2 || y.Links[0].Context != "house" {
		t.Errorf("in another chat it foresees %+v", y.Links)
	}
	if y := explained(t, append(at, "--run", "heartbeat:leap")...); len(y.Links) != 2 || !y.Engaged || y.Origin == nil || !strings.Contains(y.Tail, "milk") {
		t.Errorf("of a run it foresees %+v\n%s", y.Links, y.Tail)
	}
	explained(t, append(at, "--chat", "5", "--reply-to", "2", "and then")...)
	if diff := cmp.Diff(before, rows(t, conn)); diff != "" || len(m.Requests()) != asked || len(s.sim.Calls(telegramsim.Filter{Method: "sendMessage"})) != calls {
		t.Errorf("a dry run left something: %s", diff)
	}

	dm.Say(s.ann, "and then")
	s.await(dm, 2)
	r := m.Requests()
	if got := tailOf(r[len(r)-1]); got != x.Tail {
		t.Errorf("foreseen and carried differ:\n%s", cmp.Diff(x.Tail, got))
	}
}

// The bot's name is Telegram's word where there is a token, and a reply counts as one
// to the bot if the records say that the bot posted it.
func TestExplainKnowsNamesAndPosts(t *testing.T) {
	s := newStage(t)
	group := s.sim.AddChat(telegramsim.Chat{ID: -1001, Kind: "group", Title: "G"}, s.ann, s.bot)
	dir := brainWith(t, "bots:\n  nova:\n    merge: 0s\n    default: { role: echo, people: everyone }\n")
	s.start("--brain", dir)
	group.Say(s.ann, "@nova_bot hello")
	s.await(group, 1)
	post := fmt.Sprint(group.Posts()[0].ID)
	at := []string{"--brain", dir, "--database-url", s.dsn, "--telegram-api-url", s.url, "--chat", "-1001"}
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"@nova_bot hello"}, true},
		{[]string{"@novabot hello"}, false}, // another one's, though it would be guessed without a token
		{[]string{"hello"}, false},
		{[]string{"--reply-to", post, "hello"}, true},
		{[]string{"--reply-to", "9999", "hello"}, false},
	} {
		if x := explained(t, append(slices.Clone(at), c.args...)...); x.Engaged != c.want {
			t.Errorf("%q: engaged is %t", c.args, x.Engaged)
		}
	}
}

// A database without a table, or none that answers, is no obstacle. Without an answer
// nobody knows what tools bound, so no context with a key attaches (decisions § 3.6).
func TestExplainWithoutRecords(t *testing.T) {
	s := newStage(t)
	dir := agencyBrain(t)
	empty := explained(t, "--brain", dir, "--database-url", s.dsn, "--chat", "-1001", "hello")
	away := []string{"--brain", dir, "--database-url", "postgres://nobody@127.0.0.1:1/x?connect_timeout=1", "--chat", "-1001", "hello"}
	gone := explained(t, away...)
	if code, out, errs := attacheCommand(append([]string{"explain"}, away...)...); code != 0 || errs != "" || !strings.Contains(out, "were not looked at: the database did not answer within 5s") {
		t.Errorf("without the database it ends with %d and says %s%s", code, out, errs)
	}
	for status, x := range map[string]explain.Answer{"attached": empty, "refused": gone} {
		if len(x.Links) != 1 || x.Links[0].Entity != "acme" || x.Links[0].Status != status || *x.Pin["client"] != "acme" {
			t.Errorf("it gives %+v, want %s", x, status)
		}
	}
	if !strings.Contains(gone.Links[0].Why, "cannot be read now") || !strings.Contains(gone.Tail, "cannot be read") {
		t.Errorf("while nobody knows what tools bound: %+v\n%s", gone.Links, gone.Tail)
	}
	if n := len(rows(t, connect(t, s.dsn))); n != 2 {
		t.Errorf("a dry run made %d tables", n-2)
	}
}
