package telegram

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"attache"
)

// screen notes the drafts of a test and answers them.
type screen struct {
	mu     sync.Mutex
	began  time.Time
	times  []time.Duration
	texts  []string
	answer func(n int, r *http.Request) string // to the n-th call, from 0; nil: it works
}

func (s *screen) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	n := len(s.texts)
	s.times = append(s.times, time.Since(s.began))
	s.texts = append(s.texts, r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]+string(body))
	s.mu.Unlock()
	words := `{"ok":true,"result":true}`
	if s.answer != nil {
		words = s.answer(n, r)
	}
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if words == "" {
		return nil, errors.New("connection reset")
	}
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(words)), Header: http.Header{}}, nil
}

// seen gives when there were calls, and the last of them.
func (s *screen) seen() (times []time.Duration, last string) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.texts) == 0 {
		return nil, ""
	}
	return append(times, s.times...), s.texts[len(s.texts)-1]
}

// onScreen runs a test in fake time with a sender whose calls are noted.
func onScreen(t *testing.T, pace bool, answer func(int, *http.Request) string, test func(t *testing.T, s *Sender, seen *screen)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		seen := &screen{began: time.Now(), answer: answer}
		client := NewClient(ClientOptions{Bot: "nova", Token: attache.NewSecret(testToken), HTTP: &http.Client{Transport: seen}})
		test(t, NewSender(SenderOptions{Client: client, Pace: pace}), seen)
	})
}

func (s *Sender) draftIn(chat attache.ChatID) *Draft {
	return s.Draft(attache.Place{Bot: "nova", Chat: chat}, 7, attache.FormatAuto)
}

// write shows a growing answer, a word every 10 ms.
func write(d *Draft, from, to int) {
	for i := from; i < to; i++ {
		d.Show("An answer of " + strings.Repeat("words ", i) + fmt.Sprintf("and %d", i))
		time.Sleep(10 * time.Millisecond)
	}
}

// row L7
func TestDraftShowsTheNewestOnceASecond(t *testing.T) {
	for _, pace := range []bool{true, false} {
		onScreen(t, pace, nil, func(t *testing.T, s *Sender, seen *screen) {
			d := s.draftIn(5)
			defer d.End()
			d.Show("An")
			if times, last := seen.seen(); len(times) != 1 || times[0] != 0 || last != `sendMessageDraft{"chat_id":5,"text":"An","draft_id":7,"can_stop":true,"keep_on_stop":true}` {
				t.Errorf("the first is shown at %v as %s", times, last)
			}
			write(d, 0, 1000)
			if times, _ := seen.seen(); len(times) < 8 || mostIn(times, time.Second) > 1 {
				t.Errorf("pace %v: shown at %v", pace, times)
			}
			time.Sleep(2 * time.Second)
			if _, last := seen.seen(); !strings.Contains(last, "and 999") {
				t.Errorf("the end is not shown: %.100s", last)
			}
		})
	}
}

func TestDraftIsShownAgainBeforeItFades(t *testing.T) {
	onScreen(t, true, nil, func(t *testing.T, s *Sender, seen *screen) {
		d := s.draftIn(5)
		defer d.End()
		d.Show("Let me look.")
		time.Sleep(time.Second)
		d.Show("Let me look.") // nothing new, nothing sent
		time.Sleep(90 * time.Second)
		times, _ := seen.seen()
		if len(times) != 5 || mostIn(times, 19*time.Second) > 1 || mostIn(times, 29*time.Second) < 2 {
			t.Errorf("shown at %v", times)
		}
	})
}

// A post goes at once whatever drafts are under way, in its chat and elsewhere.
func TestDraftNeverDelaysAPost(t *testing.T) {
	onScreen(t, true, nil, func(t *testing.T, s *Sender, seen *screen) {
		var drafts []*Draft
		for chat := range attache.ChatID(60) {
			d := s.draftIn(chat + 1)
			drafts = append(drafts, d)
			go write(d, 0, 500)
		}
		for i := range 40 {
			time.Sleep(100 * time.Millisecond)
			synctest.Wait()
			if !s.Ready(attache.ChatID(i+1), UrgencyFinal) {
				t.Errorf("the post of chat %d had to wait", i+1)
			}
		}
		time.Sleep(5 * time.Second)
		times, _ := seen.seen()
		if mostIn(times, time.Second) > perFleeting || len(times) < 6*perFleeting {
			t.Errorf("%d drafts, %d in a second", len(times), mostIn(times, time.Second))
		}
		for _, d := range drafts {
			d.End()
		}
	})
}

func TestDraftLeavesTheTurnToAPost(t *testing.T) {
	onScreen(t, true, nil, func(t *testing.T, s *Sender, seen *screen) {
		if !s.Ready(5, UrgencyFinal) {
			t.Fatal("not ready")
		}
		d := s.draftIn(5)
		defer d.End()
		d.Show("An")
		if times, _ := seen.seen(); len(times) != 0 {
			t.Error("a draft came in the second of a post")
		}
		time.Sleep(1500 * time.Millisecond)
		if times, _ := seen.seen(); len(times) != 1 || times[0] < time.Second {
			t.Errorf("shown at %v", times)
		}
	})
}

func TestDraftsOfTwoTopicsTakeTurns(t *testing.T) {
	onScreen(t, true, nil, func(t *testing.T, s *Sender, seen *screen) {
		for thread := range attache.ThreadID(2) {
			d := s.Draft(attache.Place{Bot: "nova", Chat: 5, Thread: thread + 10}, int64(thread)+1, attache.FormatAuto)
			defer d.End()
			go write(d, 0, 3000)
		}
		time.Sleep(30 * time.Second)
		times, _ := seen.seen()
		all := strings.Join(seen.texts, "\n")
		if one, two := strings.Count(all, `"message_thread_id":10`), strings.Count(all, `"message_thread_id":11`); mostIn(times, time.Second) > 1 || one < 5 || two < 5 {
			t.Errorf("%d and %d drafts at %v", one, two, times)
		}
	})
}

func TestDraftIsDroppedDuringAHold(t *testing.T) {
	onScreen(t, true, nil, func(t *testing.T, s *Sender, seen *screen) {
		s.Restore([]attache.Hold{{Bot: "nova", Chat: 5, Until: time.Now().Add(30 * time.Second)}})
		d := s.draftIn(5)
		defer d.End()
		write(d, 0, 2900)
		if times, _ := seen.seen(); len(times) != 0 {
			t.Errorf("shown during a hold at %v", times)
		}
		d.Show("Now")
		time.Sleep(2 * time.Second)
		if times, last := seen.seen(); len(times) != 1 || !strings.Contains(last, `"Now"`) {
			t.Errorf("after the hold: %v, %s", times, last)
		}
	})
}

func TestDraftThatIsRefusedIsSilentForGood(t *testing.T) {
	for name, refusal := range map[string]string{
		"form":    `{"ok":false,"error_code":400,"description":"Bad Request: RICH_MESSAGE_INVALID"}`,
		"blocked": `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`,
		"unknown": `{"ok":false,"error_code":404,"description":"Not Found"}`,
	} {
		t.Run(name, func(t *testing.T) {
			onScreen(t, true, func(int, *http.Request) string { return refusal }, func(t *testing.T, s *Sender, seen *screen) {
				d := s.draftIn(5)
				write(d, 0, 500)
				time.Sleep(time.Minute)
				if times, _ := seen.seen(); len(times) != 1 {
					t.Errorf("shown at %v", times)
				}
				if !s.Ready(5, UrgencyTyping) || !s.Ready(5, UrgencyFinal) {
					t.Error("the refusal of a draft silences the chat")
				}
				d.End()
			})
		})
	}
}

// A pause and an outage are rests, for what is cosmetic only.
func TestDraftRests(t *testing.T) {
	for name, test := range map[string]struct {
		answer string
		rest   time.Duration
	}{
		"flood":    {`{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":30}}`, 30 * time.Second},
		"outage":   {"", 4 * time.Second},
		"error":    {`{"ok":false,"error_code":500,"description":"Internal Server Error"}`, 4 * time.Second},
		"web page": {"<html>", 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			onScreen(t, true, func(n int, _ *http.Request) string {
				if n == 0 {
					return test.answer
				}
				return `{"ok":true,"result":true}`
			}, func(t *testing.T, s *Sender, seen *screen) {
				d := s.draftIn(5)
				defer d.End()
				d.Show("An answer")
				time.Sleep(test.rest)
				if times, _ := seen.seen(); len(times) != 1 {
					t.Errorf("shown at %v", times)
				}
				if !s.Ready(5, UrgencyFinal) {
					t.Error("a post has to wait")
				}
				time.Sleep(3 * time.Second)
				if times, _ := seen.seen(); len(times) != 2 {
					t.Errorf("not shown after the rest: %v", times)
				}
			})
		})
	}
}

// What End promises: nothing arrives behind the post.
//
// row L7
func TestDraftEnds(t *testing.T) {
	onScreen(t, true, func(int, *http.Request) string {
		time.Sleep(700 * time.Millisecond)
		return `{"ok":true,"result":true}`
	}, func(t *testing.T, s *Sender, seen *screen) {
		d := s.draftIn(5)
		d.Show("An")
		d.Show("An answer")
		synctest.Wait()
		began := time.Now()
		d.End()
		if waited := time.Since(began); waited != 700*time.Millisecond {
			t.Errorf("End did not wait for the call under way, but %v", waited)
		}
		d.Show("An answer, too late")
		d.End()
		time.Sleep(time.Minute)
		if times, _ := seen.seen(); len(times) != 1 {
			t.Errorf("shown at %v", times)
		}
	})
}

func TestDraftEndGivesUpACallThatHangs(t *testing.T) {
	onScreen(t, true, func(_ int, r *http.Request) string {
		<-r.Context().Done()
		return ""
	}, func(t *testing.T, s *Sender, seen *screen) {
		d := s.draftIn(5)
		d.Show("An")
		synctest.Wait()
		began := time.Now()
		var both sync.WaitGroup
		both.Go(d.End)
		both.Go(d.End)
		both.Wait()
		if waited := time.Since(began); waited != draftPatience {
			t.Errorf("End took %v", waited)
		}
		if !s.Ready(5, UrgencyTyping) {
			t.Error("a call that End gave up counts as an outage")
		}
	})
}

func TestDraftThatShowsNothing(t *testing.T) {
	onScreen(t, true, nil, func(t *testing.T, s *Sender, seen *screen) {
		for _, d := range []*Draft{s.draftIn(-1001), s.Draft(attache.Place{Chat: 5}, 0, attache.FormatAuto), s.draftIn(5)} {
			if d.as.Place.Chat != 5 || d.id == 0 {
				d.Show("An answer")
			}
			d.Show("")
			time.Sleep(time.Minute)
			d.End()
			d.Show("An answer")
		}
		if times, last := seen.seen(); len(times) != 0 {
			t.Errorf("shown at %v: %s", times, last)
		}
	})
}
