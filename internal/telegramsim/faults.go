package telegramsim

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"attache"
	"attache/internal/telegramsim/methods"
)

// FaultKind is a way in which a call goes wrong.
type FaultKind string

// The kinds of faults. Only CutAfter, Slow and Truncated let the call take effect.
const (
	Flood       FaultKind = "flood"        // 429 with RetryAfter
	ServerError FaultKind = "server error" // 500 as JSON
	BadGateway  FaultKind = "bad gateway"  // 502 as an HTML page
	Conflict    FaultKind = "conflict"     // 409, as a second poller would cause
	Refuse      FaultKind = "refuse"       // 400 with Text, such as a client version's "RICH_MESSAGE_INVALID"
	Unknown     FaultKind = "unknown"      // 404, as an older server that lacks the method
	Hang        FaultKind = "hang"         // no answer until the caller gives up
	CutBefore   FaultKind = "cut before"   // connection closed, nothing happened
	CutAfter    FaultKind = "cut after"    // connection closed, yet the call took effect
	Slow        FaultKind = "slow"         // answered properly after Delay
	Truncated   FaultKind = "truncated"    // took effect; half of the answer's JSON under a 200
)

// Fault breaks calls. Empty fields of the first four match every call.
type Fault struct {
	Bot        *User
	Method     string // proper spelling
	Chat       attache.ChatID
	Param      string // only calls that carry this parameter, such as rich_message
	Kind       FaultKind
	Skip       int           // let so many matching calls pass first
	Times      int           // then break so many; 0 is 1, -1 breaks them until Heal
	RetryAfter int           // seconds, for Flood
	Delay      time.Duration // for Slow
	Text       string        // description, for Refuse
}

// armed is a fault that waits for its calls.
type armed struct {
	Fault
	left int
}

// Break arms a fault. Several may be armed; the oldest that matches meets a call.
func (s *Server) Break(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := f.Times
	if left == 0 {
		left = 1
	}
	s.faults = append(s.faults, &armed{f, left})
}

// Heal disarms every fault. Calls that hang go on hanging.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// meets finds the fault for a call and uses it up. The lock is held.
func (s *Server) meets(req *methods.Request, chat attache.ChatID) *armed {
	for _, f := range s.faults {
		if f.left == 0 || f.Bot != nil && f.Bot.in != req.Bot || f.Method != "" && f.Method != req.Method ||
			f.Chat != 0 && f.Chat != chat || f.Param != "" && !req.Params.Has(f.Param) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.left > 0 {
			f.left--
		}
		return f
	}
	return nil
}

// before does what a fault does instead of the call, and reports whether it did.
func (f *armed) before(s *Server, w http.ResponseWriter, r *http.Request, c *Call) bool {
	switch f.Kind {
	case Flood:
		f.refuse(s, w, c, methods.Flood(max(f.RetryAfter, 1)))
	case ServerError:
		f.refuse(s, w, c, &methods.Refusal{Code: 500, Text: "Internal Server Error"})
	case Conflict:
		f.refuse(s, w, c, methods.Conflict("terminated by other getUpdates request; make sure that only one bot instance is running"))
	case Refuse:
		f.refuse(s, w, c, methods.BadRequest(f.Text))
	case Unknown:
		f.refuse(s, w, c, &methods.Refusal{Code: 404, Text: "Not Found: method not found"})
	case BadGateway:
		s.finish(c, nil, errors.New("502 page"))
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><h1>502 Bad Gateway</h1></body>\r\n</html>\r\n"))
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		s.finish(c, nil, errors.New("no answer"))
		panic(http.ErrAbortHandler)
	case CutBefore:
		s.finish(c, nil, errors.New("cut before effect"))
		panic(http.ErrAbortHandler)
	case Slow:
		select {
		case <-time.After(f.Delay):
		case <-s.closed:
		}
		return false
	default:
		return false
	}
	return true
}

func (f *armed) refuse(s *Server, w http.ResponseWriter, c *Call, problem error) {
	s.finish(c, nil, problem)
	write(w, nil, problem)
}

// after breaks the answer of a call that took effect, and reports whether it did.
func (f *armed) after(w http.ResponseWriter, result json.RawMessage, problem error) bool {
	if problem != nil {
		return false
	}
	switch f.Kind {
	case CutAfter:
		panic(http.ErrAbortHandler) // closes the connection without an answer
	case Truncated:
		whole := answer(result)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(whole[:len(whole)/2])
		return true
	}
	return false
}
