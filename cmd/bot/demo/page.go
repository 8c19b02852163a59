package demo

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"attache"
	"attache/internal/web/playground"
)

// Page is what the page of the demo needs besides the world.
type Page struct {
	Address  string // that is wished for; if it is taken, a free one is used
	Records  Records
	Problems func() []attache.Problem // of the brain's files, as they are now
	Brain    string                   // the brain's folder, which the page names
	Model    string                   // what answers, in words
	Log      *slog.Logger
	// Beside serves the operator's pages in front of the playground; nil: there are none.
	Beside func(ctx context.Context, playground http.Handler) http.Handler
}

// Serve serves the page of the demo until ctx ends and gives its address. end waits
// for the server to end. It errs where nothing can be listened on.
func (w *World) Serve(ctx context.Context, o Page) (url string, end func(), err error) {
	world := newClient(w)
	page, err := playground.New(ctx, playground.Options{World: world, People: world.voices(), Turn: newFinder(o.Records, world).of,
		Problems: o.Problems, Brain: o.Brain, Model: o.Model, Operator: o.Beside != nil, Log: o.Log})
	if err != nil {
		return "", nil, err
	}
	var handler http.Handler = page
	if o.Beside != nil {
		handler = o.Beside(ctx, page)
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return "", nil, fmt.Errorf("the demo's page cannot be served on this machine: %w", err)
		}
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // ends by Shutdown below
	}()
	stop := context.AfterFunc(ctx, func() {
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(patience) // the page's streams end with ctx
	})
	return "http://" + l.Addr().String() + "/", func() {
		stop()
		_ = server.Close()
		<-ended
	}, nil
}
