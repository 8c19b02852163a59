package mind

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"attache"
	"attache/gateway"
	"attache/internal/brain"
	"attache/internal/prompt"
	"attache/origins"
)

// nothing is the answer of a beat that has nothing to say (interface § 3).
const nothing = "NOTHING"

//go:embed refused.txt
var refusedWords string

// last is what becomes of a run's last words.
type last struct {
	said     bool            // a tool of this turn said something
	about    bool            // and did so with `about`
	refusals int             // of its last words so far
	origin   *attache.Origin // of what is posted
	why      string          // why nothing is
	refused  bool            // nothing is, and it was no decision of the run
}

// enterRun finds the role of a run and the rule of its place, if it has one. A run
// has the rights of its role and no person's (decisions § 6.3).
func (th *thought) enterRun() (gateway.Answer, bool) {
	task, at := th.turn.Task, th.turn.Place
	role, ok := th.brain.Frame.Role(task.Agent)
	if !ok {
		return gateway.Answer{Why: fmt.Sprintf("the role %s does not load any more", task.Agent), Failed: true}, false
	}
	th.role = role
	if at.Chat == 0 {
		return gateway.Answer{}, true
	}
	if th.ruling = th.m.o.Ruling(th.brain, at, ""); !th.ruling.Ruled() {
		return gateway.Answer{Why: fmt.Sprintf("%s may not speak in %s: %s", task.Run, at, th.ruling.Why), Failed: true}, false
	}
	if ok, why := th.ruling.Admits(attache.UserID(int64(at.Chat))); at.Chat.Private() && !ok {
		return gateway.Answer{Why: fmt.Sprintf("%s may not write to %s: %s", task.Run, at.Chat, why), Failed: true}, false
	}
	return gateway.Answer{}, true
}

// runInput gives what a run begins with: the words of its entity, without elements
// (decisions § 5), and what kind of work it is.
func (th *thought) runInput(zone string) (snapshot, input []byte, err error) {
	task := th.turn.Task
	th.asked.Run = &task.Run
	return prompt.TurnSnapshot(prompt.Turn{
		At: th.m.o.Now(), Zone: zone, Type: task.Kind, Routine: task.Run.String(), RoutineAbout: task.About,
	}), []byte(task.Input), nil
}

// refuses judges a run's last words, which are a send like any other (decisions
// § 2). A refusal is what the model reads of it; again says that it is asked once
// more. Words that are not posted come with a refusal that is not asked about.
func (th *thought) refuses(text string) (refusal string, again bool) {
	task := th.turn.Task
	switch {
	case task == nil || text == "" || th.turn.Place.Chat == 0:
		return "", false
	case task.Kind == "heartbeat" && text == nothing:
		th.last.why = "it had nothing to say"
		if th.last.said {
			th.last.why = "it posted by its tools, and had nothing to add"
		}
		return nothing, false
	}
	pin := th.pin()
	origin, left, refusal := origins.ForSend(LastWords(th.brain, &task.Run, th.role.ID, pin))
	switch {
	case refusal == "":
		th.last.origin = origin
		if !pin.Unread {
			origin.Pinned = pin.String()
		}
		for _, l := range left {
			th.m.o.Log.Info("a context is left out of what a reply brings back", "turn", th.turn.ID, "why", l.Entry.String()+": "+l.Why)
		}
		return "", false
	case th.last.about: // the run has said what it had to say
		th.last.why = "its last words are not posted, since a reply to them would come back without its key"
		return refusal, false
	case th.last.refusals > 0:
		th.last.why, th.last.refused = "its answer was refused twice: "+refusal, true
		th.m.o.Log.Warn("a run's answer was refused twice and is not posted", "turn", th.turn.ID, "chat", th.turn.Place.Chat, "why", task.Run.String()+": "+refusal)
		return refusal, false
	}
	th.last.refusals++
	return strings.ReplaceAll(strings.TrimSpace(refusedWords), "$WHY", refusal), true
}

// LastWords is the send that a run's last words are: what they say goes to the run's own
// place, and they are about nothing but the run (decisions § 2).
func LastWords(b *brain.Brain, run *attache.Run, role attache.RoleID, at attache.Pin) origins.Send {
	return origins.Send{Run: run, Role: role, At: at, To: at, Fact: b.Contexts.Fact, Admits: b.Admission(role).Admits}
}

// spoke notes that a tool of the run said something and what it was about.
func (th *thought) spoke(c attache.Call, result string) {
	var args struct {
		About *attache.About `json:"about"`
	}
	sends := []string{"notification_send", "file_send", "voice_send"} // no other tool's `about` is one
	if th.turn.Task == nil || !slices.Contains(sends, c.Tool) || !strings.Contains(result, `"ok":true`) {
		return
	}
	th.last.said = true
	if json.Unmarshal(c.Args, &args) == nil && args.About != nil {
		th.last.about = true
	}
}
