package mind

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"attache"
	"attache/contexts"
	"attache/gateway/journal"
	"attache/internal/conversation"
	"attache/internal/engine"
	"attache/internal/model"
	"attache/internal/prompt"
)

// prepare finds the role's model, tools and static prompt, and writes the turn's
// snapshots and input down before the first call of the model; a turn that was
// prepared before gets the bytes of then.
func (th *thought) prepare(ctx context.Context) (err error) {
	o := th.m.o
	if err := th.model(); err != nil {
		return err
	}
	th.grant.Approvals = th.role.Approvals
	for _, c := range th.role.Capabilities {
		th.grant.Capabilities = append(th.grant.Capabilities, c.Text)
	}
	if th.known, err = th.m.toolsOf(th.brain); err != nil {
		return err
	}
	listed, err := journal.ListTools(th.known.For(th.grant.Capabilities))
	if err != nil {
		return err
	}
	epoch, err := th.brain.Static(th.role.ID, listed, "")
	if err != nil {
		return err
	}
	th.asked = contexts.Turn{ID: th.turn.ID, Bot: th.turn.Place.Bot, Role: th.brain.Admission(th.role.ID)}
	if th.turn.Place.Chat != 0 {
		th.asked.Bindings, th.asked.Unread = o.Bindings(ctx, th.brain, th.turn.Place)
	}
	manifest := th.brain.Frame.Manifest
	snapshot, input, err := th.input(ctx)
	if err != nil {
		return err
	}
	th.talk, err = o.Talks.Begin(ctx, conversation.Opening{
		Turn: th.turn.ID, Place: th.turn.Place, Role: th.role.ID, Engine: engineOf(th.role),
		Epoch: conversation.Epoch{ID: epoch.ID, Text: epoch.Text, Tools: listed},
		Idle:  manifest.Sessions.Idle,
		Key:   th.pin().String(),
		// What was said here may be another key's while nobody knows which key holds.
		Alone: th.alone(),
		Session: func(context.Context) ([]byte, error) {
			return prompt.SessionSnapshot(prompt.Session{Agent: th.role.ID, Name: th.role.Name, Description: th.role.Description, Workspace: manifest.Name}), nil
		},
		Snapshot: snapshot,
		Input:    input,
	})
	if err != nil {
		return err
	}
	return th.carry(ctx)
}

// model finds the role's model; an agent of its own has none of ours.
func (th *thought) model() (err error) {
	if len(th.role.Engine.Command) > 0 {
		return nil
	}
	name := th.role.Model.Text
	if name == "" {
		name = "default"
	}
	th.client, th.profile, err = th.m.o.Model(th.brain, name)
	return err
}

// pin is what the turn's place holds it to.
func (th *thought) pin() attache.Pin {
	pin := attache.NewPin(th.asked.Bot, th.asked.Bindings)
	pin.Unread = th.asked.Unread
	return pin.Keyed(th.brain.Contexts.Keyed)
}

// input makes the turn's snapshot and its input, and finds what the input replies to.
func (th *thought) input(ctx context.Context) (snapshot, input []byte, err error) {
	zone := th.brain.Frame.Manifest.Zone.String()
	if th.turn.Task != nil {
		return th.runInput(zone)
	}
	messages, err := th.readable(ctx)
	if err != nil {
		return nil, nil, err
	}
	parents, err := th.replies(ctx, messages)
	if err != nil {
		return nil, nil, err
	}
	snapshot = prompt.TurnSnapshot(prompt.Turn{At: th.m.o.Now(), Zone: zone, Type: "chat"})
	said := quoted(messages, parents)
	for i := range said {
		said[i].From = th.named(said[i].From)
	}
	return snapshot, prompt.Input(th.spoken(th.room()), said, th.spoken(messages), zone), nil
}

// spoken gives messages with those of the brain's own bots under their names in the
// brain, which tell a model more than Telegram's numbers (decisions § 5).
func (th *thought) spoken(messages []attache.Message) []attache.Message {
	out := slices.Clone(messages)
	for i := range out {
		out[i].From = th.named(out[i].From)
	}
	return out
}

func (th *thought) named(p attache.Person) attache.Person {
	if bot, ok := th.m.o.Ours(p.ID); ok {
		p.ID = attache.PersonID("bot:" + bot)
	}
	return p
}

// replies looks up what the input's messages reply to, and notes what that links.
func (th *thought) replies(ctx context.Context, messages []attache.Message) (map[Post]Parent, error) {
	var of []Post
	for _, m := range messages {
		if m.Reply != nil {
			of = append(of, parentOf(m))
		}
	}
	if len(of) == 0 {
		return nil, nil
	}
	parents, err := th.m.o.Parents(ctx, th.brain, th.turn.Place, of)
	if err != nil {
		return nil, err
	}
	for _, post := range of {
		p := parents[post]
		switch {
		case p.Why != "":
			th.m.o.Log.Info("a reply links to nothing", "turn", th.turn.ID, "chat", th.turn.Place.Chat, "why", p.Why)
		case len(p.Reach) > 0:
			th.asked.Replies = append(th.asked.Replies, contexts.Source{Why: fmt.Sprintf("a reply to message %d", post.ID), Reach: p.Reach})
		}
	}
	return parents, nil
}

// parentOf names what a message replies to: by the chat that it was said in, which
// may be the number of a group that has another one now.
func parentOf(m attache.Message) Post {
	if m.Reply.External {
		return Post{m.Reply.Chat, m.Reply.ID}
	}
	return Post{m.Place.Chat, m.Reply.ID}
}

// admitted gives the messages of people who are still let in: somebody may have been
// taken off the list while their words waited.
func (th *thought) admitted(messages []attache.Message) []attache.Message {
	var kept []attache.Message
	for _, m := range messages {
		if ok, _ := th.ruling.Admits(m.From.ID); ok {
			kept = append(kept, m)
		}
	}
	return kept
}

// quoted gives the parents that the input's messages reply to, each once, unless
// the parent is itself part of the input. A parent in another chat has a number
// that means nothing here, so it is told by its words alone.
func quoted(messages []attache.Message, parents map[Post]Parent) []prompt.Quoted {
	seen := map[attache.MessageID]bool{}
	for _, m := range messages {
		seen[m.ID] = true
	}
	var out []prompt.Quoted
	for _, m := range messages {
		r := m.Reply
		if r == nil || r.Text == "" && r.Quote == "" {
			continue
		}
		q := prompt.Quoted{Reply: *r, Lines: parents[parentOf(m)].Lines}
		if r.External {
			q.ID = 0
		} else if seen[r.ID] {
			continue
		}
		seen[q.ID] = q.ID != 0
		out = append(out, q)
	}
	return out
}

// readable gives the turn's messages with voice turned into words, and with a note
// of everything that the model cannot be given.
func (th *thought) readable(ctx context.Context) ([]attache.Message, error) {
	out := make([]attache.Message, len(th.turn.Messages))
	for i, m := range th.turn.Messages {
		for n, f := range m.Media {
			switch {
			case f.Kind == "voice":
				words, err := th.heard(ctx, m, n)
				if err != nil {
					return nil, err
				}
				if words != "" {
					m.Text = strings.TrimSpace(m.Text + "\n" + words)
				} else {
					leaveOut(&m, "what the voice message says: there is no model that transcribes")
				}
			case f.Kind == "photo" && !th.profile.Vision:
				leaveOut(&m, "the picture: this model takes none")
			case f.Kind == "document" && !th.profile.Files && !strings.HasPrefix(f.MIME, "text/"):
				leaveOut(&m, "the document: this model takes none")
			}
		}
		out[i] = m
	}
	kept := newest(out)
	if cut := len(out) - len(kept); cut > 0 {
		th.m.o.Log.Warn("the beginning of a burst is left out: its messages are too long together", "turn", th.turn.ID,
			"chat", th.turn.Place.Chat, "why", fmt.Sprintf("%d messages; a turn takes %d characters", cut, longestInput))
	}
	return kept, nil
}

// longestInput is how many code points the messages of one turn may have together.
// A burst is whatever people manage to write while a turn runs, and in a chat that
// is open to everyone its cost must not be theirs to choose.
const longestInput = 60000

// newest keeps the newest messages that fit and says how many are left out.
func newest(messages []attache.Message) []attache.Message {
	chars, from := 0, len(messages)
	for from > 0 {
		chars += utf8.RuneCountInString(messages[from-1].Text)
		if chars > longestInput && from < len(messages) {
			break
		}
		from--
	}
	if from > 0 {
		messages = messages[from:]
		leaveOut(&messages[0], fmt.Sprintf("%d messages before this one: they are too long together", from))
	}
	return messages
}

func leaveOut(m *attache.Message, what string) {
	if m.Left != "" {
		what = m.Left + "; " + what
	}
	m.Left = what
}

// heard gives the words of a voice message, once; empty without a model for it.
func (th *thought) heard(ctx context.Context, m attache.Message, n int) (string, error) {
	o := th.m.o
	if o.Transcribe == nil || o.Fetch == nil {
		return "", nil
	}
	return engine.Step(th.run, fmt.Sprintf("voice %d.%d", m.ID, n), func(context.Context) (string, error) {
		file, err := o.Fetch(ctx, th.turn.Place.Bot, m.Media[n])
		if err != nil {
			o.Log.Warn("a voice message could not be fetched", "turn", th.turn.ID, "err", err)
			return "", nil
		}
		words, ok, err := o.Transcribe(ctx, th.brain, th.turn.ID, file)
		if err != nil {
			o.Log.Warn("a voice message could not be transcribed", "turn", th.turn.ID, "err", err)
		}
		if err != nil || !ok {
			return "", nil
		}
		return words, nil
	})
}

// attached gives the pictures and documents of the input as the model takes them.
// One that cannot be fetched is said to be missing, not passed over.
func (th *thought) attached(ctx context.Context) []model.Part {
	var parts []model.Part
	for _, m := range th.turn.Messages {
		for _, f := range m.Media {
			text := f.Kind == "document" && strings.HasPrefix(f.MIME, "text/")
			if !(f.Kind == "photo" && th.profile.Vision || f.Kind == "document" && th.profile.Files || text) || th.m.o.Fetch == nil {
				continue
			}
			file, err := th.m.o.Fetch(ctx, th.turn.Place.Bot, f)
			if err != nil {
				th.m.o.Log.Warn("a file of a message could not be fetched", "turn", th.turn.ID, "err", err)
				parts = append(parts, model.Part{Kind: model.PartText, Text: fmt.Sprintf("[the %s of message %d could not be fetched]", f.Kind, m.ID)})
				continue
			}
			parts = append(parts, part(m, f, file, text && !th.profile.Files))
		}
	}
	return parts
}

func part(m attache.Message, f attache.Media, file File, inline bool) model.Part {
	if inline {
		return model.Part{Kind: model.PartText, Text: prompt.File(m.ID, f.Name, string(file.Data))}
	}
	url := "data:" + file.MIME + ";base64," + base64.StdEncoding.EncodeToString(file.Data)
	if f.Kind == "photo" {
		return model.Part{Kind: model.PartImage, URL: url}
	}
	return model.Part{Kind: model.PartFile, URL: url, Name: f.Name}
}
