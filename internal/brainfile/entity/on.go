package entity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"attache/internal/brainfile"
)

// On is one thing that wakes a hook or a scenario (interface § 3 "Hook").
type On struct {
	Event string // message, member.joined, member.left, button, topic.created, webhook, row, approval.decided or command
	Arg   string // what a button's data begins with, a webhook's name, a row's table, a command's word; "" for none
	Op    string // of a row: insert, update or delete
}

// String gives it as a person writes it, what may be left out included.
func (o On) String() string {
	switch {
	case o.Event == "command":
		return "command:/" + o.Arg
	case o.Op != "":
		return o.Event + ":" + o.Arg + ":" + o.Op
	case o.Arg != "":
		return o.Event + ":" + o.Arg
	}
	return o.Event
}

// form is how one event is written after its colon.
type form struct {
	event  string
	shape  string         // as a person is shown it; "" when nothing comes after the event
	noun   string         // what comes after it
	may    bool           // that may be left out
	accept *regexp.Regexp // what may stand there
	rules  string         // the same in words
}

// A name of a table is one that PostgreSQL takes without quotes; that of a webhook
// is part of an address and of a variable's name; a command is what Telegram takes.
var (
	tableName   = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
	webhookName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)
	commandName = regexp.MustCompile(`^/[a-z0-9_]{1,32}$`)
	buttonData  = regexp.MustCompile(`^.{1,64}$`)
)

// forms lists every event; commands says whether a command is one of them.
func forms(commands bool) []form {
	list := []form{
		{event: "message"}, {event: "member.joined"}, {event: "member.left"}, {event: "topic.created"}, {event: "approval.decided"},
		{"button", "button:<what its data begins with>", "data of a button", true, buttonData, "data of a button has at most 64 characters"},
		{"webhook", "webhook:<name>", "name of a webhook", false, webhookName, "a name has small letters, digits, - and _"},
		{"row", "row:<table> or row:<table>:update", "name of a table", false, tableName, "a table has small letters, digits and _"},
	}
	if commands {
		list = append(list, form{"command", "command:/<name>", "name of a command", false, commandName, "a command has small letters, digits and _, at most 32"})
	}
	return list
}

// On reads what wakes an entity; only scenarios are woken by commands.
func (s *Sheet) On(words brainfile.Words, commands bool) []On {
	if s.Given("on") && words != nil && len(words) == 0 {
		s.Fail("on", "on is empty, so nothing would wake it", "name an event, or switch it off with enabled: false")
	}
	var out []On
	for _, w := range words {
		if w.Line == 0 {
			continue // no text; said already
		}
		on, what, do := parseOn(w.Text, commands)
		switch {
		case what != "":
			s.FailAt(w, what, do)
		case slices.Contains(out, on):
			s.FailAt(w, fmt.Sprintf("on names %s twice", Brief(on.String())), "keep one of them")
		default:
			out = append(out, on)
		}
	}
	return out
}

// parseOn reads one word of `on`, or says what is wrong with it and what to do.
func parseOn(text string, commands bool) (on On, what, do string) {
	event, arg, colon := strings.Cut(text, ":")
	all := forms(commands)
	at := slices.IndexFunc(all, func(f form) bool { return f.event == event })
	if at < 0 {
		return On{}, fmt.Sprintf("on does not take %q", Brief(text)), otherEvent(event, arg, colon, commands)
	}
	f, op := all[at], ""
	if event == "row" {
		if arg, op, colon = strings.Cut(arg, ":"); !colon {
			op = "insert"
		}
	}
	switch {
	case f.shape == "" && colon:
		return On{}, fmt.Sprintf("nothing comes after %s, not %q", event, Brief(arg)), "write " + event
	case f.shape != "" && arg == "" && (colon || !f.may):
		return On{}, fmt.Sprintf("%q lacks the %s", Brief(text), f.noun), "write " + f.shape
	case arg != "" && !f.accept.MatchString(arg):
		return On{}, fmt.Sprintf("%q cannot be the %s", Brief(arg), f.noun), "write " + f.shape + "; " + f.rules
	case event == "row" && !slices.Contains(ops(), op):
		return On{}, fmt.Sprintf("%q is nothing that happens to a row", Brief(op)), suggestOp(arg, op)
	}
	return On{event, strings.TrimPrefix(arg, slash(event)), op}, "", ""
}

func ops() []string { return []string{"insert", "update", "delete"} }

func slash(event string) string {
	if event == "command" {
		return "/"
	}
	return ""
}

// otherEvent advises on a word that is no event.
func otherEvent(event, arg string, colon, commands bool) string {
	var names []string
	for _, f := range forms(commands) {
		names = append(names, f.event)
	}
	near := brainfile.Nearest(event, names)
	switch {
	case commands && strings.HasPrefix(event, "/"):
		return "did you mean command:" + Brief(event) + "?"
	case event == "command" || strings.HasPrefix(event, "/"):
		return "only a scenario is started by a command: write command:/<name> in on of a *.scenario.md"
	case near != "" && colon:
		return "did you mean " + near + ":" + Brief(arg) + "?"
	}
	return brainfile.Suggest(event, names, "")
}

func suggestOp(table, op string) string {
	if near := brainfile.Nearest(op, ops()); near != "" {
		return "did you mean row:" + table + ":" + near + "?"
	}
	return "write row:" + table + " and :insert, :update or :delete behind it"
}
