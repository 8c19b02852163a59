package mind

import (
	"context"
	_ "embed"
	"html"
	"strings"

	"attache/internal/conversation"
)

//go:embed missed.txt
var missedWords string

// missed gives what was said in the session that its agent does not have, "" for
// nothing: what runs have posted since it was asked last, and everything when its own
// session is new or lost. The oldest is left out where sessions.historyTokens says so.
func (th *thought) missed(ctx context.Context, t told) (string, error) {
	past, err := th.m.o.Talks.History(ctx, th.talk.Session.ID, th.turn.ID)
	if err != nil {
		return "", err
	}
	var parts []string
	room := th.brain.Frame.Manifest.Sessions.HistoryTokens * 4
	for i := len(past) - 1; i >= 0; i-- {
		p := past[i]
		if t.Turn != 0 && !(p.Mark != "" && (p.Turn > t.Turn || p.Turn == t.Turn && !t.Certain)) {
			continue
		}
		text := earlier(p)
		if room -= len(text); room < 0 && len(parts) > 0 {
			break
		}
		parts = append([]string{text}, parts...)
	}
	if len(parts) == 0 {
		return "", nil
	}
	return "<earlier>" + html.EscapeString(strings.TrimSpace(missedWords)) + "\n" + strings.Join(parts, "\n") + "\n</earlier>\n", nil
}

// earlier writes one entry of the history: the input as it was, which is in elements
// of its own, and what was answered or, by a run, posted.
func earlier(p conversation.Past) string {
	answer := "<answer"
	if p.Mark != "" {
		answer += ` from="` + html.EscapeString(p.Mark) + `"`
	}
	answer += ">" + html.EscapeString(p.Answer) + "</answer>"
	if len(p.Input) == 0 {
		return answer
	}
	return string(p.Input) + "\n" + answer
}
