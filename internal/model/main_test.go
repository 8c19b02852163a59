package model_test

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"attache"
	"attache/internal/model"
	"attache/internal/model/modeltest"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-very-secret-key"

// profile is a model at a scripted server, with a price.
func profile(name string, s *modeltest.Server) model.Profile {
	cached := 0.025
	return model.Profile{
		Name: name, Model: name + "-model", BaseURL: s.URL, APIKey: attache.NewSecret(key),
		Price: &model.Price{In: 0.25, Cached: &cached, Out: 2},
	}
}

// rig is a client whose pauses are written down instead of waited out, and what
// it told.
type rig struct {
	client   *model.Client
	pauses   []time.Duration
	events   []model.Event
	attempts []model.Attempt
}

func newRig(t *testing.T, p model.Profile, s *modeltest.Server) *rig {
	r := &rig{}
	o := model.Options{Wait: func(ctx context.Context, d time.Duration) error {
		r.pauses = append(r.pauses, d)
		return ctx.Err()
	}}
	if s != nil {
		o.Transport = s.Transport()
	}
	r.client = model.New(p, o)
	t.Cleanup(r.client.Close)
	return r
}

func (r *rig) ask(ctx context.Context, text string) (model.Result, error) {
	return r.complete(ctx, model.Request{Messages: []model.Message{{Role: model.RoleUser, Text: text}}})
}

func (r *rig) complete(ctx context.Context, req model.Request) (model.Result, error) {
	return r.client.Complete(ctx, req,
		func(e model.Event) { r.events = append(r.events, e) },
		func(a model.Attempt) { r.attempts = append(r.attempts, a) })
}

// shown gives the text that a draft would show at the end.
func (r *rig) shown() string {
	text := ""
	for _, e := range r.events {
		switch e.Kind {
		case model.EventText:
			text += e.Text
		case model.EventReset:
			text = ""
		}
	}
	return text
}

// cause gives what the log would say of an error.
func cause(t *testing.T, err error) string {
	t.Helper()
	var e *attache.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *attache.Error", err)
	}
	if e.Kind != attache.KindOutside {
		t.Errorf("kind is %s, want outside", e.Kind)
	}
	return e.Cause.Error()
}
