package methods

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"attache/internal/telegramsim/updates"
)

// allowed gives the call's allowed_updates, nil when it names none: then the list of the
// call before holds on, while an empty one means all kinds but those that must be named.
func allowed(req *Request) (*[]string, error) {
	if !req.Params.Has("allowed_updates") {
		return nil, nil
	}
	kinds := []string{}
	if err := req.Params.Decode("allowed_updates", &kinds); err != nil {
		return nil, BadRequest(err.Error())
	}
	return &kinds, nil
}

// GetUpdates waits, so it is the one method that runs without the world's lock.
func GetUpdates(ctx context.Context, req *Request) (json.RawMessage, error) {
	kinds, err := allowed(req)
	if err != nil {
		return nil, err
	}
	batch, err := req.Bot.Robot.Queue.Poll(ctx, updates.Wish{
		Offset: req.Params.Int("offset"), Limit: int(req.Params.Int("limit")),
		Timeout: time.Duration(req.Params.Int("timeout")) * time.Second, Allowed: kinds,
	})
	var c updates.Conflict
	if errors.As(err, &c) {
		return nil, Conflict(string(c))
	}
	return batch, err
}

// setWebhook starts deliveries; an empty URL ends them.
func (a *table) setWebhook(req *Request) (any, error) {
	q, drop := req.Bot.Robot.Queue, req.Params.Bool("drop_pending_updates")
	url := req.Params.Text("url")
	if url == "" {
		q.Unhook(drop)
		return true, nil
	}
	kinds, err := allowed(req)
	if err != nil {
		return nil, err
	}
	q.SetHook(url, req.Params.Text("secret_token"), kinds, drop)
	return true, nil
}

// deleteWebhook lets polls in again.
func (a *table) deleteWebhook(req *Request) (any, error) {
	req.Bot.Robot.Queue.Unhook(req.Params.Bool("drop_pending_updates"))
	return true, nil
}

func (a *table) getWebhookInfo(req *Request) (any, error) { return req.Bot.Robot.Queue.Info(), nil }
