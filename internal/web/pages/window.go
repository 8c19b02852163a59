package pages

import (
	"net/http"
	"time"
)

// Windows are the stretches that can be looked back over, the shortest first.
func Windows() []string { return []string{"24h", "7d", "30d"} }

// Edges gives the edges of a window's pieces, oldest first: hours for a day, days for
// more. The last piece is the running one and ends in the future. ok is false for a
// word that is no window.
//
// "7d" is today and the six days before it, in the zone: a window that begins at
// midnight can be told in words, and its pieces never change once they are over.
func Edges(window string, now time.Time) (edges []time.Time, ok bool) {
	switch window {
	case "24h":
		hour := now.Truncate(time.Hour)
		for i := -23; i <= 1; i++ {
			edges = append(edges, hour.Add(time.Duration(i)*time.Hour))
		}
		return edges, true
	case "7d":
		return days(now, 7), true
	case "30d":
		return days(now, 30), true
	}
	return nil, false
}

// days gives the midnights around the last n days. A day may have 23 or 25 hours.
func days(now time.Time, n int) (edges []time.Time) {
	year, month, day := now.Date()
	for i := 1 - n; i <= 1; i++ {
		edges = append(edges, time.Date(year, month, day+i, 0, 0, 0, 0, now.Location()))
	}
	return edges
}

// DefaultWindow is the one that is shown when none is asked for.
const DefaultWindow = "7d"

// window reads which window a request asks for.
func (p *Pages) window(r *http.Request) (name string, edges []time.Time, err error) {
	name = r.URL.Query().Get("window")
	if name == "" {
		name = DefaultWindow
	}
	edges, ok := Edges(name, p.now())
	if !ok {
		return "", nil, wrong("The window is 24h, 7d or 30d.")
	}
	return name, edges, nil
}

func (p *Pages) now() time.Time { return p.o.Now().In(p.o.Zone()) }
