package rehearsal

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
)

// Cache plays a provider's prompt cache: it remembers the beginnings of prompts
// and counts how much of a new prompt was seen before. A beginning is the model,
// the tools and whole messages, compared by their exact bytes, so one changed byte
// in front costs everything behind it, as it does at real providers.
//
// A token is four bytes here, which is near enough to compare and wrong as a bill.
type Cache struct {
	Minimum int // tokens below which a prompt is not cached at all; providers have 1024

	mu   sync.Mutex
	seen map[[sha256.Size]byte]bool
	old  [][sha256.Size]byte // in the order of their arrival; the oldest are forgotten
}

// remembered bounds the memory of a Cache: about 3 MB.
const remembered = 50_000

// Spend is what one prompt, or many together, would have cost, in tokens.
type Spend struct {
	Prompt  int // all
	Cached  int // read from the cache
	Written int // not seen before, and written to it
	Plain   int // not seen before, and too short to be written
}

// Billed gives the units a provider would count: a read costs a tenth, a write a
// quarter more than a plain token (issue "Feature contexts", speed).
func (s Spend) Billed() float64 {
	return 0.1*float64(s.Cached) + 1.25*float64(s.Written) + float64(s.Plain)
}

// Add gives the sum of two.
func (s Spend) Add(o Spend) Spend {
	return Spend{s.Prompt + o.Prompt, s.Cached + o.Cached, s.Written + o.Written, s.Plain + o.Plain}
}

// Take counts the body of a chat completion request and remembers it.
func (c *Cache) Take(body []byte) (Spend, error) {
	var prompt struct {
		Model    string            `json:"model"`
		Tools    json.RawMessage   `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &prompt); err != nil {
		return Spend{}, fmt.Errorf("the request is not JSON: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	total, hit := 0, 0
	hash := sha256.Sum256([]byte(prompt.Model))
	// Each hash holds the one before it, so that it stands for the whole beginning.
	for _, piece := range append([]json.RawMessage{prompt.Tools}, prompt.Messages...) {
		hash = sha256.Sum256(append(hash[:], piece...))
		total += len(piece)
		if c.seen[hash] {
			hit = total
		}
		c.remember(hash)
	}
	s := Spend{Prompt: total / 4}
	switch {
	case s.Prompt < c.Minimum:
		s.Plain = s.Prompt
	case hit/4 < c.Minimum:
		s.Written = s.Prompt
	default:
		s.Cached, s.Written = hit/4, s.Prompt-hit/4
	}
	return s, nil
}

// remember keeps a beginning and forgets the oldest one when there are too many.
// Within a prompt the shorter beginnings are older, so they go first; a prompt whose
// front is forgotten still finds its longer beginnings.
func (c *Cache) remember(hash [sha256.Size]byte) {
	if c.seen == nil {
		c.seen = map[[sha256.Size]byte]bool{}
	}
	if c.seen[hash] {
		return
	}
	c.seen[hash] = true
	c.old = append(c.old, hash)
	if len(c.old) > remembered {
		delete(c.seen, c.old[0])
		c.old = c.old[1:]
	}
}
