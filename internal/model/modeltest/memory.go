package modeltest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport reaches the server without a network.
func (s *Server) Transport() http.RoundTripper { return memory{s} }

type memory struct{ handler http.Handler }

// RoundTrip runs the handler on a goroutine of its own and gives its answer once
// the headers are written, as a connection would.
func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	body := []byte{}
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	ctx, leave := context.WithCancel(req.Context())
	served := req.Clone(ctx)
	served.Body = io.NopCloser(bytes.NewReader(body))
	read, write := io.Pipe()
	w := &pipeWriter{header: http.Header{}, pipe: write, ready: make(chan struct{})}
	go func() {
		var end error
		defer func() {
			if recover() != nil { // http.ErrAbortHandler: the connection breaks
				end = io.ErrUnexpectedEOF
			}
			w.WriteHeader(http.StatusOK)
			write.CloseWithError(end)
		}()
		m.handler.ServeHTTP(w, served)
	}()
	select {
	case <-w.ready:
	case <-ctx.Done():
		read.Close()
		leave()
		return nil, ctx.Err()
	}
	context.AfterFunc(ctx, func() { write.CloseWithError(ctx.Err()) })
	return &http.Response{
		StatusCode: w.status, Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &pipeBody{read, leave}, Request: req,
	}, nil
}

// pipeBody tells the handler when its reader leaves, as a closed connection does.
type pipeBody struct {
	*io.PipeReader
	leave context.CancelFunc
}

func (b *pipeBody) Close() error {
	b.leave()
	return b.PipeReader.Close()
}

// pipeWriter is the handler's side of an answer.
type pipeWriter struct {
	header, sent http.Header
	pipe         *io.PipeWriter
	ready        chan struct{}
	once         sync.Once
	status       int
}

// Header gives the headers that are sent with the first byte.
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader sends the headers, once.
func (w *pipeWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.ready)
	})
}

// Write waits until the client has read p: a pipe has no room of its own.
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush sends the headers; the pipe holds nothing back.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }
