package judge

import (
	"sync"

	"attache"
)

// loops counts exchanges between bots since a person last wrote, by place: a loop
// is cut after five (decisions § 6.6). A restart begins the count anew.
type loops struct {
	mu      sync.Mutex
	between map[attache.Place]int
}

// count gives the exchanges so far in a message's place; a person's message ends them.
func (l *loops) count(m attache.Message) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !m.From.IsBot {
		delete(l.between, m.Place)
	}
	return l.between[m.Place]
}

// engaged notes that a bot's message is going to be answered; an edit never is.
func (l *loops) engaged(m attache.Message) {
	if !m.From.IsBot || !m.EditedAt.IsZero() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.between == nil {
		l.between = map[attache.Place]int{}
	}
	l.between[m.Place]++
}
