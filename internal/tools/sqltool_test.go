package tools

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/store/storetest"
	"attache/internal/views"
	"attache/internal/views/sql"
)

const addTool = `---
description: Put something on the shopping list.
capability: shopping:write
risk: moderate
args:
  item: { type: string, description: what to buy, minLength: 1 }
  count: { type: integer, minimum: 1, default: 1 }
  note: { type: string, default: null }
sql: |
  -- :not_this
  insert into shopping (item, count, note)
  values (:item, :count, :note)
  returning id, item::text, count, note;
---

Never add what is on it already.
`

// tree makes a brain of one file.
func tree(path, text string) *brainfile.Tree { return brainfile.Of(brainfile.New(path, []byte(text))) }

// never fails the test when a statement is run.
func never(t *testing.T) Execute {
	return func(context.Context, sql.Statement, map[string]any, bool) (views.Outcome, error) {
		t.Error("a statement was run")
		return views.Outcome{}, nil
	}
}

// row L11
func TestSQLTools(t *testing.T) {
	got, problems := SQLTools(tree("features/home/list/add.tool.md", addTool), never(t))
	if len(problems) > 0 || len(got) != 1 {
		t.Fatal(got, problems)
	}
	tool := got[0].Tool
	if tool.Name != "add" || got[0].Feature != "home" || tool.Capability != "shopping:write" || tool.Risk != attache.RiskModerate || !tool.Effects || got[0].Line != 9 ||
		tool.Description != "Put something on the shopping list.\n\nNever add what is on it already." {
		t.Errorf("%+v", got[0])
	}
	const schema = `{"type":"object","properties":{"item":{"description":"what to buy","minLength":1,"type":"string"},"count":{"default":1,"minimum":1,"type":"integer"},"note":{"type":"string"}},"required":["item"],"additionalProperties":false}`
	if string(tool.Schema) != schema {
		t.Errorf("the schema is %s", tool.Schema)
	}
	if want := []string{"item", "count", "note"}; !reflect.DeepEqual(got[0].Statement.Params, want) {
		t.Errorf("%+v", got[0].Statement)
	}
	for text, effects := range map[string]bool{"safe\nsql: select 1": false, "moderate\nsql: select 1": true, "moderate\nsql: delete from t": true} {
		got, problems := SQLTools(tree("features/a/x.tool.md", "---\ndescription: d\ncapability: c\nrisk: "+text+"\ngrantable: true\n---\n"), never(t))
		if len(got) != 1 || got[0].Tool.Effects != effects || !got[0].Grantable || string(got[0].Tool.Schema) != `{"type":"object","additionalProperties":false}` {
			t.Errorf("%s: %+v %v", text, got, problems)
		}
	}
}

func TestMistakesOfSQLTools(t *testing.T) {
	const head = "---\ndescription: d\ncapability: c:d\nrisk: safe\n"
	for _, c := range []struct{ text, want string }{
		{"", "1:1: the file is empty"},
		{"---\n---\n", `1:1: the key "capability" is missing; add capability: <subject>:<right>, as in tickets:write; a role that lists it gets the tool | 1:1: the key "description" is missing; add description: <what it does, and when to call it> | 1:1: the key "risk" is missing; add risk: safe, moderate or dangerous | 1:1: the key "sql" is missing; add sql: <one statement>, with :name where an argument belongs`},
		{head + "sqll: select 1\n---\n", `5:1: the key "sqll" is not known here; did you mean sql?`},
		{"---\ndescription: d\ncapability: c\nrisk: save\nsql: select 1\n---\n", `4:7: risk does not take "save"; did you mean safe?`},
		{"---\ndescription: d\ncapability: c*\nrisk: safe\nsql: select 1\n---\n", `3:13: "c*" is no name of a capability; one has no spaces and no *; rename it`},
		{head + "sql: select :ticket\nargs: { tickets: { type: string } }\n---\n", `5:6: sql has the parameter :ticket, and args does not declare it; did you mean tickets? | 6:9: args declares tickets, and sql has no parameter :tickets; use it, or take it out`},
		{head + "sql: select 1\nargs:\n  a: { type: string }\n---\n", "7:3: args declares a, and sql has no parameter :a; use it, or take it out"},
		{head + "sql: select :a\n---\n", "5:6: sql has the parameter :a, and args does not declare it; add it to args"},
		{head + "sql: |\n  select 1;\n  delete from t\n---\n", "7:3: a second statement begins here, and a tool has one; make a tool of its own of it, or write both as one statement with WITH"},
		{head + "sql: \"select 1; drop table t\"\n---\n", "5:17: a second statement begins here"},
		{head + "sql: select 'x\n---\n", "5:13: the string that opens here is never closed"},
		{head + "sql: >\n  select\n  'x\n---\n", "5:6: the string that opens here is never closed"},
		{head + "sql: drop table t\n---\n", "5:6: a tool reads or changes rows, and this statement does something else"},
		{head + "sql: ''\n---\n", "there is no statement"},
		{head + "sql:\n---\n", "5:1: sql has no value"},
		{head + "sql: select $1\n---\n", "5:13: parameters have names here"},
		{head + "sql: select :a\nargs: { a: string }\n---\n", "6:9: the argument a has no schema; write it as a: { type: string, description: … }"},
		{head + "sql: select :a\nargs: { a: }\n---\n", "6:9: the argument a has no schema"},
		{head + "sql: select :a\nargs: [a]\n---\n", "args must be keys with values, not a list"},
		{head + "sql: select :a\nargs: { a: { type: strin } }\n---\n", `6:9: the argument a has the type "strin"; did you mean string?`},
		{head + "sql: select :a\nargs: { a: { descripton: x, type: string } }\n---\n", `6:14: JSON schema has no "descripton" here; did you mean description?`},
		{head + "sql: select :a\nargs: { a: { description: x } }\n---\n", "6:9: the argument a has no type; add type: string, integer, number, boolean, array or object"},
		{head + "sql: select :a\nargs: { a: { type: integer, default: one } }\n---\n", "6:9: the default of the argument a does not fit its own schema"},
		{head + "sql: select :a\nargs: { a: { type: integer, minimum: 5, default: 1 } }\n---\n", "6:9: the default of the argument a does not fit its own schema"},
		{head + "sql: select :a\nargs: { a: { type: string, pattern: '(' } }\n---\n", "6:9: the schema of the argument a cannot be used"},
		{head + "sql: select :a\nargs: { a: { type: string }, a: { type: string } }\n---\n", `6:30: the key "a" stands here twice`},
		{head + "sql: select 1\nargs: { a-b: { type: string } }\n---\n", `6:9: "a-b" cannot be the name of an argument`},
	} {
		got, problems := SQLTools(tree("features/a/x.tool.md", c.text), never(t))
		var all []string
		for _, p := range problems {
			all = append(all, strings.TrimPrefix(p.Error(), "features/a/x.tool.md:"))
		}
		if said := strings.Join(all, " | "); len(got) > 0 || !strings.Contains(said, c.want) {
			t.Errorf("%s\n got %s\nwant %s", c.text, said, c.want)
		}
	}
	if _, problems := SQLTools(tree("features/a/schließen.tool.md", head+"sql: select 1\n---\n"), never(t)); len(problems) != 1 || !strings.Contains(problems[0].What, "models cannot call a tool") {
		t.Errorf("%v", problems)
	}
	twins := brainfile.Of(brainfile.New("features/a/x.tool.md", []byte(head+"sql: select 1\n---\n")), brainfile.New("features/b/x.tool.md", []byte(head+"sql: select 1\n---\n")))
	if got, problems := SQLTools(twins, never(t)); len(got) != 0 || len(problems) != 2 {
		t.Errorf("two files of one id: %v %v", got, problems)
	}
}

// What the registry refuses never reaches the database; what reaches it has every
// parameter.
// row L11
func TestSQLToolsAreCalled(t *testing.T) {
	var got map[string]any
	var failure error
	out := views.Outcome{Affected: 3}
	tools, problems := SQLTools(tree("features/home/add.tool.md", addTool), func(_ context.Context, s sql.Statement, args map[string]any, readOnly bool) (views.Outcome, error) {
		got = args
		if readOnly {
			t.Error("an insert runs in a transaction that only reads")
		}
		return out, failure
	})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := registry(t, tools[0].Tool)
	for args, want := range map[string]string{
		`{}`:                         "add was not run: argument item is missing; it must be a string",
		`{"item":5}`:                 "add was not run: argument item is an integer and must be a string",
		`{"item":""}`:                "add was not run: argument item has 0 characters and must have at least 1",
		`{"item":"a","count":"2"}`:   "add was not run: argument count is a string and must be an integer",
		`{"item":"a","itm":"b"}`:     `add was not run: there is no argument "itm"; did you mean item?`,
		`{"item":null}`:              "add was not run: argument item is null and must be a string",
		`{"item":"a","item":"b"}`:    "add was not run: argument item is given twice; give it once",
		`{"item":"a","not_this":""}`: `add was not run: there is no argument "not_this"`,
	} {
		result, err := r.Run(t.Context(), call("add", args), all())
		if said := sentence(t, result); !strings.HasPrefix(said, want) || err != nil || got != nil {
			t.Errorf("%s: %s %v", args, said, err)
		}
	}
	result, _ := r.Run(t.Context(), call("add", `{"item":"milk'; drop table shopping; --"}`), all())
	if want := (map[string]any{"item": "milk'; drop table shopping; --", "count": int64(1), "note": nil}); !reflect.DeepEqual(got, want) || result.Text != `{"affected":3,"ok":true}` {
		t.Errorf("%#v %s", got, result.Text)
	}
	_, _ = r.Run(t.Context(), call("add", `{"item":"a","count":null,"note":null}`), all())
	if want := (map[string]any{"item": "a", "count": int64(1), "note": nil}); !reflect.DeepEqual(got, want) {
		t.Errorf("null is not what was left out: %#v", got)
	}
	result, _ = r.Run(t.Context(), call("add", `{"item":"a","count":90071992547409931}`), all())
	if got["count"] != json.Number("90071992547409931") {
		t.Errorf("%#v %s", got, result.Text)
	}
	out = views.Outcome{Tabular: true}
	if result, _ = r.Run(t.Context(), call("add", `{"item":"a"}`), all()); result.Text != `{"ok":true,"rows":[]}` {
		t.Error(result.Text)
	}
	out = views.Outcome{Tabular: true, More: true, Rows: []json.RawMessage{json.RawMessage(`{"b":"<x> & y","a":1}`)}}
	if result, _ = r.Run(t.Context(), call("add", `{"item":"a"}`), all()); result.Text != `{"more":true,"ok":true,"rows":[{"b":"<x> & y","a":1}]}` {
		t.Error(result.Text)
	}
	failure = &attache.Error{Say: "the database refused it", Cause: errors.New("secret detail")}
	if result, _ = r.Run(t.Context(), call("add", `{"item":"a"}`), all()); result.Text != `{"error":"add: the database refused it","ok":false}` {
		t.Error(result.Text)
	}
	failure = &attache.Error{Say: "nobody knows", Cause: views.ErrUnknown}
	if result, _ = r.Run(t.Context(), call("add", `{"item":"a"}`), all()); !strings.Contains(result.Text, `"status":"unknown"`) {
		t.Error(result.Text)
	}
}

// The shopping list of text 1 § 6 on a real database: schema, tools and view.
// row L11
func TestShoppingList(t *testing.T) {
	db := storetest.New(t)
	if err := db.Migrate(t.Context(), "views", sql.Migrations()); err != nil {
		t.Fatal(err)
	}
	owner := db.Pool()
	problems, err := sql.Apply(t.Context(), owner, []sql.Schema{{Feature: "home", File: "features/home/schema.sql", Text: `
		create table if not exists shopping (id serial primary key, item text not null, count int not null, note text, done boolean not null default false);
		create view home_shopping_open as select item, count, note from shopping where not done order by id`}})
	if err != nil || len(problems) > 0 {
		t.Fatal(problems, err)
	}
	executor, err := views.OpenExecutor(t.Context(), owner, views.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer executor.Close()
	brain := brainfile.Of(brainfile.New("features/home/add.tool.md", []byte(addTool)),
		brainfile.New("features/home/tick.tool.md", []byte("---\ndescription: Tick off.\ncapability: shopping:write\nrisk: moderate\nargs: { item: { type: string } }\nsql: update shopping set done = true where item = :item and not done\n---\n")),
		brainfile.New("features/home/find.tool.md", []byte("---\ndescription: Find.\ncapability: shopping:read\nrisk: safe\nargs: { words: { type: array, items: { type: string } } }\nsql: select item from home_shopping_open where item = any(:words)\n---\n")))
	list, wrong := SQLTools(brain, func(ctx context.Context, s sql.Statement, args map[string]any, readOnly bool) (views.Outcome, error) {
		return executor.Run(ctx, s, args, readOnly, 20, "UTC")
	})
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	var tools []attache.Tool
	var trials []sql.Trial
	for _, s := range list {
		tools, trials = append(tools, s.Tool), append(trials, s.Trial())
	}
	found, _, err := sql.Check(t.Context(), owner, nil, nil, trials)
	if err != nil {
		t.Fatal(err)
	}
	for i, refusal := range found.Refusals {
		if refusal != (sql.Refusal{}) {
			t.Errorf("%s: %v", list[i].File, refusal)
		}
	}
	r := registry(t, tools...)
	for _, c := range []struct{ tool, args, want string }{
		{"add", `{"item":"milk"}`, `{"ok":true,"rows":[{"id":1,"item":"milk","count":1,"note":null}]}`},
		{"add", `{"item":"x'); drop table shopping; --","count":2,"note":"</section>"}`, `{"ok":true,"rows":[{"id":2,"item":"x'); drop table shopping; --","count":2,"note":"</section>"}]}`},
		{"find", `{"words":["milk","x, y"]}`, `{"ok":true,"rows":[{"item":"milk"}]}`},
		{"tick", `{"item":"milk"}`, `{"affected":1,"ok":true}`},
		{"tick", `{"item":"milk' or true"}`, `{"affected":0,"ok":true}`},
		{"find", `{"words":["milk"]}`, `{"ok":true,"rows":[]}`},
	} {
		result, err := r.Run(t.Context(), call(c.tool, c.args), all())
		if err != nil || result.Text != c.want {
			t.Errorf("%s %s: %s %v", c.tool, c.args, result.Text, err)
		}
	}
	reader, err := views.OpenReader(t.Context(), owner, views.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.Allow(t.Context(), []string{"home_shopping_open"}); err != nil {
		t.Fatal(err)
	}
	got := reader.Read(t.Context(), []views.Query{{View: "home_shopping_open"}}, 20, "UTC")[0]
	if want := [][]string{{"x'); drop table shopping; --", "2", "</section>"}}; !reflect.DeepEqual(got.Rows, want) {
		t.Errorf("%+v", got)
	}
}

func FuzzSQLTool(f *testing.F) {
	f.Add(addTool)
	f.Add("---\ndescription: d\ncapability: c\nrisk: safe\nsql: |\n\n   select :a[1:2], 'x\nargs: { a: { type: array, default: [1] } }\n---\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, problems := SQLTools(tree("features/a/x.tool.md", text), never(t))
		for _, p := range problems {
			if p.Line < 1 || p.Col < 1 || p.What == "" || p.Line > strings.Count(text, "\n")+strings.Count(text, "\r")+2 {
				t.Errorf("%+v", p)
			}
		}
		if (len(got) == 1) == (len(problems) > 0) {
			t.Fatalf("%d tools and %d problems", len(got), len(problems))
		}
		for _, s := range got {
			if _, err := New(Owned{s.File, []attache.Tool{s.Tool}}); err != nil {
				t.Errorf("%q loads and cannot be registered: %v", text, err)
			}
		}
	})
}

// A tool that is called safe only reads: its file does not load when its statement has
// a word that changes rows, and the database is asked to hold the others to it.
func TestASafeToolOnlyReads(t *testing.T) {
	_, problems := SQLTools(tree("features/a/close.tool.md", "---\ndescription: Closes.\ncapability: a:b\nrisk: safe\nargs: {}\nsql: update t set x = 1\n---\n"), nil)
	if len(problems) != 1 || problems[0].Line != 6 || !strings.Contains(problems[0].What, "risk is safe") {
		t.Errorf("problems: %v", problems)
	}
}
