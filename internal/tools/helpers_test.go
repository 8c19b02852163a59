package tools

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"attache"
)

// note is what most tests call: a tool with one argument of each sort.
type note struct {
	Text string   `json:"text" jsonschema:"what to note"`
	Kind string   `json:"kind,omitempty"`
	N    int      `json:"n,omitempty"`
	Tags []string `json:"tags,omitempty"`
	Rows [][]struct {
		Text string `json:"text"`
		URL  string `json:"url,omitempty"`
	} `json:"rows,omitempty"`
	Chat   Chat    `json:"chat,omitzero"`
	Thread *Thread `json:"thread,omitempty"`
}

// noted gives a tool that counts its runs.
func noted(name string, runs *atomic.Int64) attache.Tool {
	return Make(attache.Tool{Name: name, Capability: "note:write", Risk: attache.RiskSafe},
		func(context.Context, attache.Call, note) attache.Result {
			runs.Add(1)
			return attache.OK(nil)
		})
}

// tool gives a tool without arguments.
func tool(name, capability string, risk attache.Risk, run func(context.Context, attache.Call) attache.Result) attache.Tool {
	if run == nil {
		run = func(context.Context, attache.Call) attache.Result { return attache.OK(nil) }
	}
	return attache.Tool{Name: name, Capability: capability, Risk: risk, Schema: json.RawMessage(`{"type":"object"}`), Run: run}
}

func registry(t testing.TB, ts ...attache.Tool) *Registry {
	t.Helper()
	r, err := New(Owned{"the test", ts})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func call(name, args string) attache.Call {
	return attache.Call{ID: "c1", Tool: name, Args: json.RawMessage(args), Role: "support", Turn: 7}
}

func all() Grant { return Grant{Capabilities: []string{"*"}} }

// sentence gives the error of a result and whether it is a JSON object at all.
func sentence(t testing.TB, r attache.Result) string {
	t.Helper()
	var fields struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal([]byte(r.Text), &fields); err != nil {
		t.Fatalf("the result is no JSON object: %v: %.200s", err, r.Text)
	}
	if fields.OK != (fields.Error == "") {
		t.Fatalf("ok is %v beside the error %q", fields.OK, fields.Error)
	}
	return fields.Error
}
