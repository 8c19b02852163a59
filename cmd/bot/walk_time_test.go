package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"attache/heartbeat"
)

// timeForms move the clock that the program's beats go by. A walk with such a line
// has a clock of its own, which stands still; one without them has the machine's.
func timeForms() []form {
	return []form{
		staged(shaped("the clock says 2026-11-30 08:59:50", `the clock says (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)`, "", func(w *walk, c clause) (func(*play) error, error) {
			w.timed = true
			to, err := time.Parse(time.DateTime, c.words[1])
			return func(p *play) error { return p.clockSays(to) }, err
		})),
		shaped("time passes 30s", `time passes (.+)`, "", func(w *walk, c clause) (func(*play) error, error) {
			w.timed = true
			d, err := span(c.words[1])
			return func(p *play) error { return p.timePasses(d) }, err
		}),
	}
}

var walkSpan = regexp.MustCompile(`^(?:(\d+)d)?(?: ?(\d+)h)?(?: ?(\d+)m)?(?: ?(\d+)s)?$`)

// span reads a length of time such as "1d 2h" or "30s".
func span(text string) (time.Duration, error) {
	m := walkSpan.FindStringSubmatch(text)
	var sum time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		if m != nil && m[i+1] != "" {
			n, err := strconv.Atoi(m[i+1])
			if err != nil {
				return 0, err
			}
			sum += time.Duration(n) * unit
		}
	}
	if sum <= 0 {
		return 0, fmt.Errorf("%q is no length of time; write it as in 30s, 5m, 2h or 1d", text)
	}
	return sum, nil
}

// walkClock stands still until the walk moves it. One runner of beats sleeps by it.
type walkClock struct {
	mu     sync.Mutex
	now    time.Time
	due    time.Time
	wake   chan time.Time // nil: nobody sleeps
	sleeps int            // how often somebody lay down
}

func (c *walkClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *walkClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.due, c.wake = c.now.Add(d), make(chan time.Time, 1)
	c.sleeps++
	if d <= 0 {
		c.wake <- c.now
	}
	return c.wake
}

// asleep reports whether the runner sleeps, and how often it has lain down.
func (c *walkClock) asleep() (bool, int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wake != nil && c.due.After(c.now), c.sleeps
}

// forget takes the clock out of a program's hands that has ended.
func (c *walkClock) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = nil
}

// hop moves the clock to when the runner wakes, or to an earlier end, and gives
// whether the end is reached.
func (c *walkClock) hop(end time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wake == nil || c.due.After(end) {
		c.now = end
		return true
	}
	c.now = c.due
	wake := c.wake
	c.wake = nil
	wake <- c.now
	return false
}

// clockSays sets the clock before the program runs, and lets time pass while it does.
func (p *play) clockSays(to time.Time) error {
	if p.life == nil {
		p.clock.mu.Lock()
		defer p.clock.mu.Unlock()
		p.clock.now = to
		return nil
	}
	if !to.After(p.clock.Now()) {
		return fmt.Errorf("it is %s already; the clock goes back only while the program does not run", p.clock.Now().UTC().Format(time.DateTime))
	}
	return p.timePasses(to.Sub(p.clock.Now()))
}

// timePasses moves the clock. What is stored is as much older, as far as something is
// judged by its age; and the runner of beats wakes at every moment that it asked for,
// what it sets off coming to rest before the clock moves on.
func (p *play) timePasses(d time.Duration) error {
	if p.walk.kills > 0 {
		return errors.New("time cannot be moved for a program that is a process of its own")
	}
	if err := p.age(d); err != nil {
		return err
	}
	end := p.clock.Now().Add(d)
	for {
		if p.life != nil {
			if err := p.rest(); err != nil {
				return err
			}
		}
		if p.clock.hop(end) {
			return nil
		}
	}
}

// age makes what the database holds older.
func (p *play) age(d time.Duration) error {
	for _, of := range []string{"message_origins.at", "sessions.last"} {
		table, column, _ := strings.Cut(of, ".")
		var there bool
		if err := p.db.Pool().QueryRow(p.t.Context(), `select to_regclass('attache.' || $1) is not null`, table).Scan(&there); err != nil {
			return err
		}
		if !there {
			continue // the program has not run yet
		}
		if _, err := p.db.Pool().Exec(p.t.Context(), fmt.Sprintf(`update attache.%s set %s = %[2]s - $1::interval`, table, column), d); err != nil {
			return err
		}
	}
	return nil
}

// beatsRest reports whether the runner of beats sleeps; a walk without a clock of its
// own leaves it alone.
func (p *play) beatsRest() bool {
	if p.clock == nil {
		return true
	}
	rests, _ := p.clock.asleep()
	return rests
}

// looks counts how often the runner of beats has looked around.
func (p *play) looks() int {
	if p.clock == nil {
		return 0
	}
	_, n := p.clock.asleep()
	return n
}

// hands gives the walk's clock to a program.
func (p *play) hands() heartbeat.Clock {
	if p.clock == nil {
		return nil // and not a nil walkClock, which would be a clock
	}
	return p.clock
}

// forgetClock takes the clock back from a program that has ended.
func (p *play) forgetClock() {
	if p.clock != nil {
		p.clock.forget()
	}
}
