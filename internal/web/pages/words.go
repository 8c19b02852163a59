package pages

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"time"

	"attache"
	"attache/gateway/ledger"
)

// words are the functions of the templates, beside those of package web.
func (p *Pages) words() template.FuncMap {
	return template.FuncMap{
		"asset": p.o.Assets.URL,
		"links": linksOf, "cure": cure, "money": money, "digits": digits,
		"percent": percent,
		"thousandths": func(share float64) int {
			return int(math.Round(1000 * share))
		},
		"time":  p.time,
		"ago":   func(t time.Time) string { return ago(p.o.Now().Sub(t)) },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"lasts": lasts,
		"place": func(at attache.Place) Chat { return Chat{Place: at} },
		"level": level,
		"join":  join,
		"sub":   func(a, b int) int { return a - b },
		"plus":  func(a, b int) int { return a + b },
	}
}

// digits writes a number with its thousands set apart.
func digits(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "\u202f" + s[i:]
	}
	return s
}

func percent(share float64) string {
	switch pc := 100 * share; {
	case pc == 0:
		return "0 %"
	case pc < 1:
		return "< 1 %"
	default:
		return fmt.Sprintf("%.0f %%", pc)
	}
}

// time writes a moment in the brain's zone: the hour of today, the day before that.
func (p *Pages) time(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	now := p.now()
	t = t.In(now.Location())
	if y, m, d := t.Date(); y == now.Year() && m == now.Month() && d == now.Day() {
		return t.Format("15:04:05")
	}
	if t.Year() == now.Year() {
		return t.Format("2 Jan 15:04")
	}
	return t.Format("2 Jan 2006 15:04")
}

// ago says how long it is since.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return several(int(d/time.Minute), "minute")
	case d < 48*time.Hour:
		return several(int(d/time.Hour), "hour")
	}
	return several(int(d/(24*time.Hour)), "day")
}

func several(n int, unit string) string {
	if n == 1 {
		return "1 " + unit + " ago"
	}
	return fmt.Sprintf("%d %ss ago", n, unit)
}

// lasts gives how long a turn took; 0 while it runs.
func lasts(r ledger.Record) time.Duration {
	if r.Ended.IsZero() {
		return 0
	}
	return r.Ended.Sub(r.Opened)
}

// level gives the class of a finding.
func level(l string) string {
	switch l {
	case "fail":
		return "bad"
	case "warn":
		return "open"
	}
	return "calmly"
}

func join(names []string) string { return strings.Join(names, ", ") }
