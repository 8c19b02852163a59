package prompt

import "cmp"

// Message is one message to a model, in no provider's form.
type Message struct {
	Role string `json:"role"` // system, developer, user or assistant
	Text string `json:"text"`
}

// Past is an earlier turn as it is replayed: its bytes of then, and never made
// anew from today's data. What a run posted into the place is one with an Answer
// and a Mark only.
type Past struct {
	Snapshot []byte
	Input    []byte
	Answer   string // empty if the turn ended without one
	Mark     string // heartbeat:<id>, hook:<id> or scenario:<id> for what a run posted
	Tokens   int    // what the turn costs, if that was counted before; else it is counted
}

// Request is what the messages of one turn are made of, in the order in which
// they are sent (decisions § 4).
type Request struct {
	Epoch    Epoch
	Session  []byte // session snapshot
	History  []Past // oldest first: the whole session, or what was not dropped before
	Snapshot []byte // turn snapshot
	Input    []byte // room, quoted parents and messages; or a rendered body
	Tail     []byte // agent state and feature contexts; gone from the next turn

	StaticRole  string           // of the static prompt; "" is system
	ContextRole string           // of snapshots and the tail; "" is system
	Budget      int              // tokens that History may take; 0 keeps all
	Count       func(string) int // tokens of a text; nil: a quarter of its bytes
}

// Assemble gives the messages of a turn and how many of the oldest turns of
// History were left out to keep within Budget. Runtime texts and what people
// wrote are never in one message.
//
// Two consecutive turns of a session share every byte up to the end of the
// earlier one's input, except where a cut falls between them. Cuts are rare: see
// dropped.
func Assemble(r Request) (messages []Message, cut int) {
	static, context := cmp.Or(r.StaticRole, "system"), cmp.Or(r.ContextRole, "system")
	add := func(role string, text string) {
		if text != "" {
			messages = append(messages, Message{Role: role, Text: text})
		}
	}
	add(static, r.Epoch.Text)
	add(context, string(r.Session))
	cut = dropped(r)
	for _, p := range r.History[cut:] {
		add(context, string(p.Snapshot))
		add("user", string(p.Input))
		add("assistant", p.answer())
	}
	add(context, string(r.Snapshot))
	add("user", string(r.Input))
	add(context, string(r.Tail))
	return messages, cut
}

// answer gives the text of the assistant's message, with the mark that the
// protocol text explains.
func (p Past) answer() string {
	if p.Mark == "" || p.Answer == "" {
		return p.Answer
	}
	return "[" + p.Mark + "]\n" + p.Answer
}

// dropped gives how many of the oldest turns go. It goes through the session as
// it grew: whenever a turn brought it over the budget, the oldest went until at
// most 60 % of the budget was left. So the point of the cut depends on what was
// said alone, and stays where it is for many turns, which keeps the prefix; and
// it comes out the same from the whole session and from what an earlier cut left
// of it. The newest turn stays if it fits by itself.
func dropped(r Request) int {
	if r.Budget <= 0 {
		return 0
	}
	from, sum := 0, 0
	costs := make([]int, len(r.History))
	for i, p := range r.History {
		costs[i] = p.cost(r.Count)
		sum += costs[i]
		if sum <= r.Budget {
			continue
		}
		for sum > r.Budget*6/10 && (from < i || sum > r.Budget) {
			sum -= costs[from]
			from++
		}
	}
	return from
}

func (p Past) cost(count func(string) int) int {
	switch {
	case p.Tokens > 0:
		return p.Tokens
	case count == nil:
		return (len(p.Snapshot) + len(p.Input) + len(p.answer()) + 3) / 4
	}
	return count(string(p.Snapshot)) + count(string(p.Input)) + count(p.answer())
}
