// Package metrics is what /metrics tells of this process: counters of updates, turns,
// posts and exchanges with models, in the form of Prometheus. Labels are few and come
// from the brain or from code, never from what people write.
package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"attache"
	"attache/internal/model"
)

// Metrics are the counters of one process.
type Metrics struct {
	registry *prometheus.Registry
	updates  *prometheus.CounterVec
	turns    *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	posts    *prometheus.CounterVec
	calls    *prometheus.CounterVec
	tokens   *prometheus.CounterVec
}

// New makes counters that stand at nothing.
func New() *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "attache_" + name, Help: help}, labels)
	}
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		updates:  counter("updates_total", "Updates handled, by what was done with them.", "bot", "act"),
		turns:    counter("turns_total", "Turns that ended, by how.", "bot", "state"),
		posts:    counter("posts_total", "Posts by what became of them.", "bot", "fate"),
		calls:    counter("model_calls_total", "Exchanges with models, by HTTP status (0: none arrived).", "model", "status"),
		tokens:   counter("model_tokens_total", "Tokens that models reported, by kind.", "model", "kind"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "attache_turn_seconds", Help: "Time from a turn's beginning to its end.", Buckets: prometheus.ExponentialBuckets(0.005, 2.5, 12)}, []string{"bot"}),
	}
	m.registry.MustRegister(m.updates, m.turns, m.seconds, m.posts, m.calls, m.tokens,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Update counts a handled update by what was done with it.
func (m *Metrics) Update(bot attache.BotID, what string) {
	m.updates.WithLabelValues(string(bot), what).Inc()
}

// Turn counts an ended turn by its state, and its time.
func (m *Metrics) Turn(bot attache.BotID, state string, took time.Duration) {
	m.turns.WithLabelValues(string(bot), state).Inc()
	m.seconds.WithLabelValues(string(bot)).Observe(took.Seconds())
}

// Post counts a post by what became of its call.
func (m *Metrics) Post(bot attache.BotID, fate attache.Fate) {
	m.posts.WithLabelValues(string(bot), string(fate)).Inc()
}

// Exchange takes one exchange with a model.
func (m *Metrics) Exchange(a model.Attempt) {
	m.calls.WithLabelValues(a.Profile, strconv.Itoa(a.Status)).Inc()
	if !a.Usage.Reported {
		return
	}
	for kind, n := range map[string]int{"in": a.Usage.In, "cached": a.Usage.Cached, "out": a.Usage.Out, "reasoning": a.Usage.Reasoning} {
		m.tokens.WithLabelValues(a.Profile, kind).Add(float64(n))
	}
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Timeout: 10 * time.Second})
}
