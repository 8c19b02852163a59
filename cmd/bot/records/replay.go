package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"attache"
	"attache/gateway/journal"
	"attache/gateway/ledger"
	"attache/internal/usage"
)

// Replay is a recorded turn's requests, made again and compared with those that were
// sent.
type Replay struct {
	Turn     int64     `json:"turn"`
	Same     bool      `json:"same"` // every request is
	Requests []Request `json:"requests"`
	// Missing says what is known not to be kept, so that a difference is no wonder.
	Missing []string `json:"missing"`
}

// Request is one exchange with a model: a repeated try and a fallback are exchanges
// of their own.
type Request struct {
	N       int    `json:"n"` // which request of the turn, from 1
	Try     int    `json:"try"`
	Profile string `json:"profile"` // the entry under models:
	Sent    Sum    `json:"sent"`
	Rebuilt Sum    `json:"rebuilt"`
	Same    bool   `json:"same"`
	Why     string `json:"why,omitempty"` // it could not be rebuilt

	body []byte
}

// Sum tells an exact body by its size and hash.
type Sum struct {
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"` // hexadecimal; "" for none
}

// Replay makes the requests of a turn again. A turn without any is an error that
// says why there are none.
func (b *Book) Replay(ctx context.Context, turn int64) (Replay, error) {
	if _, ok, err := ledger.ReadTurn(ctx, b.db, turn); err != nil || !ok {
		if err == nil {
			err = unknown(turn)
		}
		return Replay{}, err
	}
	calls, err := usage.OfTurn(ctx, b.db.Pool(), turn)
	if err != nil {
		return Replay{}, err
	}
	if len(calls) == 0 {
		return Replay{}, notFound("no model was asked for turn %d, so there is no request to rebuild", turn)
	}
	rebuilt, ok, err := journal.Rebuild(ctx, b.db, b.talks, turn)
	if err != nil {
		return Replay{}, err
	}
	if !ok && calls[0].Profile == "cli" {
		return Replay{}, notFound("turn %d was answered by an agent that keeps its own state; what it asks its model is not Attaché's to rebuild", turn)
	}
	if !ok {
		return Replay{}, notFound("what turn %d was sent is not kept any more (retention.turns), or it was asked by an older version", turn)
	}
	r := Replay{Turn: turn, Same: true, Missing: append([]string{}, rebuilt.Missing...)}
	for _, c := range calls {
		if c.Bytes == 0 {
			continue // no words of ours were sent, as when a text was said aloud
		}
		q := compare(rebuilt, c)
		r.Same = r.Same && q.Same
		r.Requests = append(r.Requests, q)
	}
	return r, nil
}

func notFound(format string, args ...any) error {
	return &attache.Error{Kind: attache.KindNotFound, Say: fmt.Sprintf(format, args...)}
}

// compare holds a rebuilt request against the sum of what was sent.
func compare(rebuilt journal.Replay, c usage.Call) Request {
	q := Request{N: c.N, Try: c.Try, Profile: c.Profile, Sent: Sum{c.Bytes, c.SHA256}}
	body, err := rebuilt.Body(c.N, c.Profile)
	if err != nil {
		q.Why = err.Error()
		return q
	}
	sum := sha256.Sum256(body)
	q.body, q.Rebuilt = body, Sum{len(body), hex.EncodeToString(sum[:])}
	q.Same = q.Rebuilt == q.Sent
	return q
}

// PrintJSON prints it for another program.
func (r Replay) PrintJSON(w io.Writer) error { return printJSON(w, r) }

// Print prints a line for each request, and what is not kept.
func (r Replay) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, q := range r.Requests {
		try := ""
		if q.Try > 1 {
			try = fmt.Sprintf(", try %d", q.Try)
		}
		fmt.Fprintf(t, "request %d%s\t%s\t%d bytes\tsha256 %s\t%s\n", q.N, try, q.Profile, q.Sent.Bytes, short(q.Sent.SHA256), q.verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, m := range r.Missing {
		fmt.Fprintln(w, "missing: "+m)
	}
	say := "all are the same, byte for byte"
	if !r.Same {
		say = "not all are the same"
	}
	_, err := fmt.Fprintf(w, "turn %d: %s\n", r.Turn, say)
	return err
}

func (q Request) verdict() string {
	switch {
	case q.Same:
		return "the same"
	case q.Why != "":
		return "not rebuilt: " + q.Why
	}
	return fmt.Sprintf("differs: rebuilt it has %d bytes, sha256 %s", q.Rebuilt.Bytes, short(q.Rebuilt.SHA256))
}

// short gives the beginning of a hash.
func short(sum string) string { return sum[:min(12, len(sum))] }

// Write puts the rebuilt bodies into a folder, a file for each request and model. A
// repeated try has the bytes of the first.
func (r Replay) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the rebuilt requests cannot be written: %w; choose another folder with --out", err)
	}
	for _, q := range r.Requests {
		if q.Why != "" {
			continue
		}
		name := filepath.Join(dir, fmt.Sprintf("turn-%d-request-%d-%s.json", r.Turn, q.N, filepath.Base(q.Profile)))
		if err := os.WriteFile(name, q.body, 0o600); err != nil {
			return fmt.Errorf("the rebuilt requests cannot be written: %w; choose another folder with --out", err)
		}
	}
	return nil
}
