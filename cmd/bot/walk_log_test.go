package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"attache"
)

// records reads the log.
func (p *play) records() ([]map[string]any, error) {
	var all []map[string]any
	for l := range strings.Lines(p.log()) {
		r := map[string]any{}
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			return nil, fmt.Errorf("the log has a line that is no JSON: %s", l)
		}
		all = append(all, r)
	}
	return all, nil
}

// judged tells what was decided on each message, and why.
func (p *play) judged() (string, error) {
	all, err := p.records()
	var out strings.Builder
	for _, r := range all {
		if r["msg"] != "a message was judged" {
			continue
		}
		chat, _ := attache.ParseChat(number(r["chat"]))
		thread, _ := strconv.ParseInt(number(r["thread"]), 10, 64)
		at := attache.Place{Chat: chat, Thread: attache.ThreadID(thread)}
		act, why, _ := strings.Cut(number(r["why"]), "; ")
		fmt.Fprintf(&out, "%s %s: %s; %s\n", p.speaker(attache.Person{ID: attache.PersonID(number(r["person"]))}), p.heard(at, number(r["bot"])), act, p.plain(why))
	}
	return out.String(), err
}

// heard says where a message was said, in the words of a script.
func (p *play) heard(at attache.Place, bot string) string {
	where := p.placeOf(at)
	if at.Chat.Private() {
		_, topic, inTopic := strings.Cut(where, "/")
		where = "to " + bot
		if inTopic {
			where += "/" + topic
		}
	}
	return where
}

// number prints a value of the log; JSON's numbers come as floats.
func number(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// story gives the log without its chatter, for the reader of a failure.
func (p *play) story() string {
	var out strings.Builder
	for l := range strings.Lines(p.log()) {
		if !strings.Contains(l, `"level":"DEBUG"`) || strings.Contains(l, "was judged") {
			out.WriteString(l)
		}
	}
	return out.String()
}

// complaints tells the warnings and errors of the log, without what changes from
// run to run. A walk that does not expect any must not have any.
func (p *play) complaints() (string, error) {
	all, err := p.records()
	var out strings.Builder
	for _, r := range all {
		if r["level"] != "WARN" && r["level"] != "ERROR" {
			continue
		}
		fmt.Fprintf(&out, "%s: %v", strings.ToLower(number(r["level"])), r["msg"])
		for _, key := range []string{"bot", "chat", "person", "part", "why", "err"} {
			if v := number(r[key]); v != "" && (key != "part" || strings.Trim(v, "0123456789") != "") { // rows have numbers too
				fmt.Fprintf(&out, "; %s %s", key, p.plain(v))
			}
		}
		out.WriteByte('\n')
	}
	return out.String(), err
}
