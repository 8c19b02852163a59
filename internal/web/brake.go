package web

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// brake slows down who guesses tokens. An address may be wrong three times; each
// further time it is not listened to for twice as long, up to half a minute.
type brake struct {
	now   func() time.Time
	mu    sync.Mutex
	wrong map[string]slips
}

// slips are an address's wrong tokens.
type slips struct {
	n     int
	until time.Time // it is not listened to before
}

const (
	freeSlips    = 3
	longestPause = 30 * time.Second
	forgiven     = 10 * time.Minute // after the last pause
	mostSlippers = 1000             // addresses that are remembered one by one
)

// wait says for how long an address is not listened to.
func (b *brake) wait(from string) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wrong[b.known(from)].until.Sub(b.now())
}

// slip notes a wrong token.
func (b *brake) slip(from string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for a, s := range b.wrong {
		if now.Sub(s.until) > forgiven {
			delete(b.wrong, a)
		}
	}
	from = b.known(from)
	s := b.wrong[from]
	s.n++
	s.until = now
	if over := s.n - freeSlips; over >= 0 {
		s.until = now.Add(min(time.Second<<min(over, 10), longestPause))
	}
	b.wrong[from] = s
}

// right forgets the slips of an address.
func (b *brake) right(from string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.wrong, from)
}

// known gives the name under which an address is remembered. Past many of them,
// all new ones share one, so that memory stays bounded and guessing stays slow.
func (b *brake) known(from string) string {
	if _, ok := b.wrong[from]; !ok && len(b.wrong) >= mostSlippers {
		return "others"
	}
	return from
}

// address says where a request comes from: behind a proxy on this machine, what the
// proxy saw. Of IPv6 the network counts, for one person has all of it.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err == nil && ip.IsLoopback() {
		if all := r.Header.Get("X-Forwarded-For"); all != "" {
			seen := strings.TrimSpace(all[strings.LastIndex(all, ",")+1:])
			if theirs, err := netip.ParseAddr(seen); err == nil {
				ip = theirs
			}
		}
	}
	if !ip.IsValid() {
		return host
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}
