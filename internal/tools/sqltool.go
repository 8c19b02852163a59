package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/internal/brainfile"
	"attache/internal/views"
	"attache/internal/views/sql"
)

// SQLTool is a *.tool.md of a feature: one SQL statement that an agent may call
// with typed arguments (interface § 3, SQL tool).
type SQLTool struct {
	File      string
	Feature   attache.FeatureID
	Line      int  // on which sql begins, for what only the database can find wrong
	Grantable bool // an approval may be given for longer than one call
	Tool      attache.Tool
	Statement sql.Statement
	Sample    map[string]any // a value of the right kind for each argument, any one
}

// Trial gives the tool's statement for sql.Check, which has Postgres judge it.
func (t SQLTool) Trial() sql.Trial {
	types, err := views.Types(t.Statement, t.Sample)
	if err != nil {
		types = sql.NewTypes(make([]uint32, len(t.Statement.Params))) // then Postgres alone finds them
	}
	return sql.Trial{Statement: t.Statement, Types: types}
}

// Execute carries out a tool's statement: views.Executor.Run with the brain's rows
// and zone. args holds a value for every parameter.
type Execute func(ctx context.Context, s sql.Statement, args map[string]any, readOnly bool) (views.Outcome, error)

// SQLTools reads every *.tool.md of a brain, also those of features that are
// switched off. A file with a mistake is a problem and no tool; the rest go on. The
// tool is called by the file's id, and its result is {"ok":true,"rows":[…]}, with
// "more":true where there were more, or {"ok":true,"affected":n}.
//
// A tool that is safe and whose statement holds no word that changes rows runs in a
// transaction which only reads, and is simply called again after a crash. Any other
// has effects.
func SQLTools(tree *brainfile.Tree, run Execute) ([]SQLTool, []attache.Problem) {
	files, problems := tree.Entities("tool")
	var out []SQLTool
	for _, f := range files {
		read := brainfile.Once(f, readSQLTool)
		problems = append(problems, read.problems...)
		if len(read.problems) == 0 {
			out = append(out, read.bind(run))
		}
	}
	return out, problems
}

// sqlFile is a file as it was read.
type sqlFile struct {
	tool     SQLTool
	defaults map[string]any // of the arguments that may be left out
	problems []attache.Problem
}

// sqlHead is its frontmatter.
type sqlHead struct {
	brainfile.Lines
	Description brainfile.Word `yaml:"description,required" do:"add description: <what it does, and when to call it>"`
	Capability  brainfile.Word `yaml:"capability,required" do:"add capability: <subject>:<right>, as in tickets:write; a role that lists it gets the tool"`
	Risk        string         `yaml:"risk,required" oneof:"safe,moderate,dangerous"`
	Args        brainfile.Node `yaml:"args"`
	SQL         brainfile.Word `yaml:"sql,required" do:"add sql: <one statement>, with :name where an argument belongs"`
	Grantable   bool           `yaml:"grantable"`
}

// readSQLTool reads one file. It depends on the file alone.
func readSQLTool(f *brainfile.File) sqlFile {
	ident, _ := brainfile.Identify(f.Path)
	front, problems := f.Frontmatter()
	if len(problems) > 0 {
		return sqlFile{problems: problems}
	}
	var head sqlHead
	problems = front.Head.Decode(&head)
	args, more := readArguments(head.Args)
	problems = append(problems, more...)
	if what := unfit(ident.ID, head.Capability.Text); what != "" && head.Capability.Line > 0 {
		problems = append(problems, f.Wrong(max(head.Capability.Line, 1), max(head.Capability.Col, 1), what, "rename it"))
	}
	var statement sql.Statement
	if head.SQL.Line > 0 {
		statement, more = readStatement(f, head, args)
		problems = append(problems, more...)
	}
	risk := attache.Risk(head.Risk)
	if len(problems) == 0 && risk == attache.RiskSafe && !statement.Reads {
		problems = append(problems, f.Wrong(head.SQL.Line, head.SQL.Col, "it may change rows, and risk is safe, which only reads", "write risk: moderate"))
	}
	if len(problems) > 0 {
		return sqlFile{problems: problems}
	}
	return sqlFile{
		defaults: args.defaults,
		tool: SQLTool{
			File: f.Path, Feature: attache.FeatureID(ident.Feature), Line: head.SQL.Line, Grantable: head.Grantable, Statement: statement, Sample: args.samples,
			Tool: attache.Tool{
				Name:        ident.ID,
				Description: strings.TrimSpace(head.Description.Text + "\n\n" + strings.TrimSpace(front.Body)),
				Schema:      args.schema(),
				Capability:  head.Capability.Text,
				Risk:        risk,
				Effects:     risk != attache.RiskSafe,
			},
		},
	}
}

// unfit says why a name or a capability cannot be used, "" when both can.
func unfit(id, capability string) string {
	switch {
	case !toolName.MatchString(id):
		return fmt.Sprintf("models cannot call a tool %q; the name of its file may have up to 64 letters from a to z, digits, _ and -", shown(id))
	case capability == "" || strings.ContainsAny(capability, "* \t\n"):
		return fmt.Sprintf("%q is no name of a capability; one has no spaces and no *", shown(capability))
	}
	return ""
}

// readStatement reads sql and compares its parameters with the arguments.
func readStatement(f *brainfile.File, head sqlHead, args declared) (sql.Statement, []attache.Problem) {
	s, wrong := sql.Parse(head.SQL.Text)
	if wrong != nil {
		line, col := inFile(f, head.SQL, wrong.Line, wrong.Col)
		return s, []attache.Problem{f.Wrong(line, col, wrong.What, wrong.Do)}
	}
	var problems []attache.Problem
	names := args.names()
	for _, name := range s.Params {
		if !slices.Contains(names, name) {
			problems = append(problems, f.Wrong(head.SQL.Line, head.SQL.Col, fmt.Sprintf("sql has the parameter :%s, and args does not declare it", name), brainfile.Suggest(name, names, "add it to args")))
		}
	}
	for _, arg := range args.list {
		if !slices.Contains(s.Params, arg.name.Text) {
			problems = append(problems, f.Wrong(arg.name.Line, arg.name.Col, fmt.Sprintf("args declares %s, and sql has no parameter :%s", shown(arg.name.Text), shown(arg.name.Text)), "use it, or take it out"))
		}
	}
	return s, problems
}

// inFile gives the place in the file of a place in the text of a scalar, as far as
// YAML lets it be told: exactly in a block that begins with | and in one line,
// else where the text begins.
func inFile(f *brainfile.File, at brainfile.Word, line, col int) (int, int) {
	lines := strings.Split(f.Text, "\n")
	if at.Line < 1 || at.Line > len(lines) {
		return max(at.Line, 1), max(at.Col, 1)
	}
	opening := []rune(lines[at.Line-1])
	mark := rune(' ')
	if at.Col >= 1 && at.Col <= len(opening) {
		mark = opening[at.Col-1]
	}
	switch {
	case mark == '|' && at.Line+line <= len(lines):
		indent := 0
		for _, l := range lines[at.Line:] { // the first line that is not blank sets it
			if t := strings.TrimLeft(l, " "); t != "" {
				indent = len(l) - len(t)
				break
			}
		}
		return at.Line + line, col + indent
	case strings.Contains(at.Text, "\n") || mark == '>':
		return at.Line, at.Col
	case mark == '"' || mark == '\'':
		return at.Line, at.Col + col
	}
	return at.Line, at.Col + col - 1
}

// bind gives a tool its function.
func (s sqlFile) bind(run Execute) SQLTool {
	t := s.tool
	readOnly := !t.Tool.Effects
	t.Tool.Run = func(ctx context.Context, c attache.Call) attache.Result {
		args, err := s.fill(c.Args)
		if err != nil {
			return attache.Refused(c.Tool + " was not run: its arguments cannot be read")
		}
		out, err := run(ctx, t.Statement, args, readOnly)
		switch {
		case errors.Is(err, views.ErrUnknown):
			return Unknown(c.Tool + ": " + attache.Sentence(err) + "; it is not repeated, so look before you call it again")
		case err != nil:
			return attache.Refused(c.Tool + ": " + attache.Sentence(err))
		}
		return told(out)
	}
	return t
}

// fill reads a call's arguments and puts in the defaults of those left out.
func (s sqlFile) fill(raw json.RawMessage) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(arguments(raw)))
	d.UseNumber() // a float would round long numbers
	args := map[string]any{}
	if err := d.Decode(&args); err != nil {
		return nil, err
	}
	for name, value := range s.defaults {
		if _, given := args[name]; !given {
			args[name] = value
		}
	}
	return args, nil
}

// told is the result of a statement.
func told(out views.Outcome) attache.Result {
	if !out.Tabular {
		return attache.Result{Text: marshal(map[string]any{"ok": true, "affected": out.Affected})}
	}
	fields := map[string]any{"ok": true, "rows": append([]json.RawMessage{}, out.Rows...)}
	if out.More {
		fields["more"] = true
	}
	return attache.Result{Text: marshal(fields)}
}
