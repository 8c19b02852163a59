package constitution

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"attache"
	"attache/internal/brainfile"
)

// Manifest is MANIFEST.yaml with every default filled in (interface § 3, decisions
// § 2). Lines tells which keys were written, so that a knob's tier can be named.
type Manifest struct {
	brainfile.Lines
	Name         string               `yaml:"name"`     // of the workspace; the brain's folder when not given
	Zone         Zone                 `yaml:"timezone"` // UTC when not given
	Models       map[string]Model     `yaml:"models"`   // by the name that roles use; may lack "default"
	Args         map[string]string    // by path: "company", "profile.name"; as written
	MCP          map[string]MCPServer `yaml:"mcp"`
	Contexts     Knobs                `yaml:"contexts"`
	Limits       Limits               `yaml:"limits"`
	ContentProbe struct {
		Context time.Duration `yaml:"context"` // between looks without an event: 2s; 0 relies on file events alone
	} `yaml:"contentProbe"`
	State struct { // bounds the state views of a turn
		Rows  int `yaml:"rows"`  // of a view: 20; 0 switches rows off
		Views int `yaml:"views"` // whole views of the agent state: 8
	} `yaml:"state"`
	Room struct { // bounds the observed lines that ride along before an input
		Lines int `yaml:"lines"` // 30
		Chars int `yaml:"chars"` // code points: 4000
	} `yaml:"room"`
	Retention struct {
		Updates time.Duration `yaml:"updates" min:"1h"` // of raw updates: 7d
		Room    time.Duration `yaml:"room" min:"1h"`    // of observed lines: 30d
		Turns   time.Duration `yaml:"turns" min:"1h"`   // of turns, their requests and calls: 90d
	} `yaml:"retention"`
	Approvals struct {
		Expire time.Duration `yaml:"expire" min:"1m"`        // 24h; silence is "no"
		To     string        `yaml:"to" oneof:"owners,chat"` // owners
	} `yaml:"approvals"`
	Telegram struct {
		Pace string `yaml:"pace" oneof:"on,off"` // on; off only against a server of one's own
	} `yaml:"telegram"`
	MessageOrigins struct {
		RetentionDays int `yaml:"retentionDays"` // 365; 0 keeps for ever
	} `yaml:"messageOrigins"`
	Sessions struct {
		HistoryTokens int           `yaml:"historyTokens" min:"1"` // 24000; compaction begins there
		Idle          time.Duration `yaml:"idle" min:"1m"`         // 12h without a message end a session
	} `yaml:"sessions"`
}

// Knobs are MANIFEST's tier of the budget knobs (decisions § 2).
type Knobs struct {
	brainfile.Lines
	Chars         int `yaml:"chars" min:"1"`         // code points of a context's block: 3000
	MaxActive     int `yaml:"maxActive"`             // contexts of a turn: 3; 0 stubs all
	TurnChars     int `yaml:"turnChars"`             // code points of all contexts of a turn: 9000
	Keep          int `yaml:"keep"`                  // turns that a held link stays: 3
	CodeTimeoutMs int `yaml:"codeTimeoutMs" min:"1"` // of one call of brain code, its load included: 1500
}

// Limits bound one turn.
type Limits struct {
	Calls   int     `yaml:"calls" min:"1"`   // of the model: 12
	Seconds int     `yaml:"seconds" min:"1"` // 300
	Cost    float64 `yaml:"cost"`            // in the currency of the prices: 1.00
}

// MCPServer is a server of tools that runs as a child process.
type MCPServer struct {
	Command []string `yaml:"command,required"`
}

// Model is one entry of `models:`. What is not given is the adapter's to choose.
type Model struct {
	brainfile.Lines
	Model       string           `yaml:"model,required" do:"add model: <the name that the server knows>"`
	BaseURL     Setting          `yaml:"baseUrl"`
	APIKey      Setting          `yaml:"apiKey"`
	Fallback    []brainfile.Word `yaml:"fallback"`                          // names of other entries, in order
	Price       *Price           `yaml:"price"`                             // nil: cost is unknown, not 0
	Profile     string           `yaml:"profile" oneof:"auto,openai,plain"` // the habits of the server: model.Dialect
	ContextRole string           `yaml:"contextRole" oneof:"system,user"`
	Temperature *float64         `yaml:"temperature"`
	MaxTokens   *int             `yaml:"maxTokens" min:"1"`
}

// Price is what a million tokens cost.
type Price struct {
	In     float64  `yaml:"in,required"`
	Cached *float64 `yaml:"cached"` // nil: the same as In
	Out    float64  `yaml:"out,required"`
}

// manifestFile is the file as it is written; what a struct tag cannot say is read
// from the nodes.
type manifestFile struct {
	Manifest
	Args brainfile.Node `yaml:"args"`
}

// defaults are those of decisions § 2 and of interface § 3.
func defaults(folder string) Manifest {
	const day = 24 * time.Hour
	m := Manifest{
		Name:     folder,
		Zone:     Zone{time.UTC},
		Args:     map[string]string{},
		Contexts: Knobs{Chars: 3000, MaxActive: 3, TurnChars: 9000, Keep: 3, CodeTimeoutMs: 1500},
		Limits:   Limits{Calls: 12, Seconds: 300, Cost: 1},
	}
	m.ContentProbe.Context = 2 * time.Second
	m.State.Rows, m.State.Views = 20, 8
	m.Room.Lines, m.Room.Chars = 30, 4000
	m.Retention.Updates, m.Retention.Room, m.Retention.Turns = 7*day, 30*day, 90*day
	m.Approvals.Expire, m.Approvals.To = day, "owners"
	m.Telegram.Pace = "on"
	m.MessageOrigins.RetentionDays = 365
	m.Sessions.HistoryTokens, m.Sessions.Idle = 24000, 12*time.Hour
	return m
}

// readManifest reads MANIFEST.yaml. A nil file gives the defaults, with the name of
// the brain's folder. With problems the manifest holds what could be read.
func readManifest(file *brainfile.File, folder string) (Manifest, []attache.Problem) {
	if file == nil {
		return defaults(folder), nil
	}
	read := manifestFile{Manifest: defaults(folder)}
	node, problems := file.YAML()
	if len(problems) > 0 {
		return read.Manifest, problems
	}
	problems = node.Decode(&read)
	read.Manifest.Args = map[string]string{}
	problems = append(problems, arguments(read.Args, "", read.Manifest.Args)...)
	problems = append(problems, fallbacks(node, read.Models)...)
	problems = append(problems, addresses(file, read.Models)...)
	if strings.TrimSpace(read.Name) == "" {
		problems = append(problems, file.Wrong(max(read.Lines["name"], 1), 1, "name is blank", "write a name, or leave the key out"))
	}
	return read.Manifest, problems
}

// arguments flattens `args:` into paths, each value as it is written: an argument
// is text for a prompt, and 1.50 must not become 1.5.
func arguments(n brainfile.Node, path string, into map[string]string) []attache.Problem {
	pairs, problems := n.Pairs()
	for _, p := range pairs {
		at := strings.TrimPrefix(path+"."+p.Key.Text, ".")
		if word, ok := p.Value.Text(); ok {
			into[at] = word.Text
		} else if p.Value.IsMap() && !p.Value.Empty() {
			problems = append(problems, arguments(p.Value, at, into)...)
		} else {
			into[at] = "" // it is declared, so that texts which name it are not wrong too
			problems = append(problems, p.Value.WrongAt(p.Key, fmt.Sprintf("the argument %s is no text", at), "write one text, or names with texts below it"))
		}
	}
	return problems
}

// fallbacks checks that each fallback is an entry, and that following them ends.
func fallbacks(top brainfile.Node, models map[string]Model) []attache.Problem {
	known := slices.Sorted(maps.Keys(models))
	var problems []attache.Problem
	for _, name := range known {
		for _, to := range models[name].Fallback {
			if _, ok := models[to.Text]; !ok {
				problems = append(problems, top.WrongAt(to, fmt.Sprintf("the model %s falls back to %q, which is no entry of models", name, to.Text), brainfile.Suggest(to.Text, known, "add it")))
			} else if to.Text == name {
				problems = append(problems, top.WrongAt(to, fmt.Sprintf("the model %s falls back to itself", name), "name another entry of models"))
			} else if way := way(models, to.Text, name, map[string]bool{}); way != nil && slices.Min(way) == name { // a ring is told once
				problems = append(problems, top.WrongAt(to, fmt.Sprintf("these models fall back to each other: %s → %s", name, strings.Join(way, " → ")), "take one of the fallbacks out"))
			}
		}
	}
	return problems
}

// way follows fallbacks from one entry to another and gives the entries on it, both
// included, or nil when there is none.
func way(models map[string]Model, from, to string, seen map[string]bool) []string {
	if from == to {
		return []string{to}
	}
	seen[from] = true
	for _, next := range models[from].Fallback {
		if seen[next.Text] {
			continue
		}
		if rest := way(models, next.Text, to, seen); rest != nil {
			return append([]string{from}, rest...)
		}
	}
	return nil
}

// addresses checks each baseUrl that stands in the file. It may hold a password,
// so the sentence does not repeat it.
func addresses(file *brainfile.File, models map[string]Model) []attache.Problem {
	var problems []attache.Problem
	for _, name := range slices.Sorted(maps.Keys(models)) {
		base := models[name].BaseURL
		if base.Given() && base.Env() == "" && !webAddress(base.literal.Reveal()) {
			problems = append(problems, file.Wrong(models[name].Lines["baseUrl"], 1, fmt.Sprintf("baseUrl of the model %s is no web address", name), "write it as https://host/v1"))
		}
	}
	return problems
}

func webAddress(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}
