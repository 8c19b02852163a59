package main

import (
	"strings"
	"testing"
)

// The example's beat chases invoices on Monday; a reply of the next day brings the one
// invoice that its post was about.
//
// rows C5, C6, M1
func TestTheExamplesBeat(t *testing.T) {
	t.Setenv(tokenVariable("nova"), token("nova"))
	w := &walk{path: "example", brain: exampleFiles(t)}
	err := w.script(`
person bob 102 @bob
group invoices -1005: bob nova
the clock says 2026-12-07 07:59:50
start
model calls: notification_send {"text":"Lumen owes 480 euro since 3 November.","about":{"entity":"2026-31"}}
model says, after notification_send: NOTHING
time passes 1m
time passes 1d
model calls: invoice_paid {"number":"2026-31"}
model says, after invoice_paid: Noted.
bob in invoices, replying to nova: paid
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := newPlay(t, w)
	if err := p.perform(); err != nil {
		t.Fatalf("%v\n%s", err, p.log())
	}
	if err := p.stopProgram(); err != nil {
		t.Fatal(err)
	}
	requests := p.model.Requests()
	if len(requests) != 4 {
		t.Fatalf("%d requests, want two of the beat and two of the reply", len(requests))
	}
	for i, want := range map[int]string{
		0: `<feature-context name="chase" feature="invoices" link="run">`,
		2: `<feature-context name="invoice" feature="invoices" entity="2026-31" link="reply">`,
	} {
		if !strings.Contains(string(requests[i].Raw), strings.ReplaceAll(want, `"`, `\"`)) {
			t.Errorf("request %d lacks %s:\n%s", i+1, want, requests[i].Raw)
		}
	}
	last := requests[3].Messages[len(requests[3].Messages)-1]
	if !strings.Contains(last.Text(), `"affected":1`) {
		t.Errorf("invoice_paid answered %s", last.Text())
	}
}
