package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"attache"
)

// CreateTopic opens a topic in a forum, or in a private chat whose bot has topics,
// and gives its number. name has 1 to 128 characters. It waits for its turn at the
// gate like a post, as Telegram counts the line about the new topic as one. An
// error is a *CallError, or that of ctx when the turn never came.
func (s *Sender) CreateTopic(ctx context.Context, chat attache.ChatID, name string) (attache.ThreadID, error) {
	params := struct {
		Chat attache.ChatID `json:"chat_id"`
		Name string         `json:"name"`
	}{chat, name}
	var topic struct {
		Thread attache.ThreadID `json:"message_thread_id"`
	}
	if err := s.manage(ctx, chat, "createForumTopic", params, &topic); err != nil {
		return 0, err
	}
	if topic.Thread == 0 {
		return 0, &CallError{Method: "createForumTopic", Code: 200, Description: "the answer names no topic"}
	}
	return topic.Thread, nil
}

// CloseTopic closes a topic of a forum; one that is closed already is no error. An
// error is as with CreateTopic.
func (s *Sender) CloseTopic(ctx context.Context, chat attache.ChatID, thread attache.ThreadID) error {
	params := struct {
		Chat   attache.ChatID   `json:"chat_id"`
		Thread attache.ThreadID `json:"message_thread_id"`
	}{chat, thread}
	err := s.manage(ctx, chat, "closeForumTopic", params, nil)
	if e, ok := errors.AsType[*CallError](err); ok && e.Certain && mentions(e.Description, "topic_not_modified") {
		return nil
	}
	return err
}

// manage makes a call that changes a chat, in its turn; a pause that Telegram asks
// for holds the chat's posts back too.
func (s *Sender) manage(ctx context.Context, chat attache.ChatID, method string, params, result any) error {
	if err := s.Clear(ctx, chat, UrgencyFinal); err != nil {
		return err
	}
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	err = s.client.Call(ctx, method, json.RawMessage(body), result)
	s.note(method, err)
	if e, ok := errors.AsType[*CallError](err); ok && e.Code == 429 {
		s.pause(body, max(e.RetryAfter, time.Second))
	}
	return err
}
