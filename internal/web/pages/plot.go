package pages

import (
	"fmt"
	"math"
	"strconv"
)

// plot is a bar chart, laid out for a template: numbers are thousandths of its
// width and units of its height.
type plot struct {
	Bars   []drawn
	Lines  []gridline
	Width  int
	Height int  // of the bars; labels stand below
	Empty  bool // nothing is known and nothing is unknown
}

type gridline struct {
	Y    int
	Name string
}

// drawn is one bar with its place.
type drawn struct {
	X, Width int
	Middle   int
	Name     string // below it; empty where there is no room
	Title    string
	Rects    []rect
	Unknown  bool
}

type rect struct {
	Kind      string // a class of the style sheet
	Y, Height int
}

// bar is what is to be drawn: parts from the bottom up.
type bar struct {
	label
	parts   []part
	what    string
	unknown bool // a part of it is not known, so that it may be higher
}

type part struct {
	kind  string
	value float64
}

// The size of a plot, in units of its own.
const (
	plotWidth  = 1000
	plotHeight = 220
	plotLeft   = 70 // for the names of the lines
)

// draw lays bars out.
func draw(bars []bar) plot {
	p := plot{Width: plotWidth, Height: plotHeight, Empty: true}
	top := 0.0
	for _, b := range bars {
		sum := 0.0
		for _, x := range b.parts {
			sum += x.value
		}
		top = math.Max(top, sum)
		p.Empty = p.Empty && sum == 0 && !b.unknown
	}
	step := roundStep(top / 4)
	top = step * math.Max(math.Ceil(top/step), 1)
	for v := 0.0; v <= top+step/2; v += step {
		p.Lines = append(p.Lines, gridline{plotHeight - int(v/top*plotHeight), short(v)})
	}
	room := float64(plotWidth-plotLeft) / float64(max(len(bars), 1))
	every := max((len(bars)+9)/10, 1) // ten names are legible
	for i, b := range bars {
		x := plotLeft + int(float64(i)*room)
		d := drawn{X: x + int(room*.14), Width: max(int(room*.72), 1), Middle: x + int(room/2), Title: b.Long + ": " + b.what, Unknown: b.unknown}
		if (len(bars)-1-i)%every == 0 {
			d.Name = b.Short
		}
		y := float64(plotHeight)
		for _, part := range b.parts {
			if part.value <= 0 {
				continue
			}
			height := math.Max(part.value/top*plotHeight, 1)
			y -= height
			d.Rects = append(d.Rects, rect{part.kind, int(math.Round(y)), int(math.Max(math.Round(height), 1))})
		}
		p.Bars = append(p.Bars, d)
	}
	return p
}

// roundStep gives the next 1, 2 or 5 of some power of ten.
func roundStep(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// short writes a number of an axis: 2.5k, 3M.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return strconv.FormatFloat(v/unit.size, 'g', 3, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// money writes an amount; nil is unknown, which is not nothing.
func money(c *float64) string {
	switch {
	case c == nil:
		return "unknown"
	case *c == 0:
		return "0"
	case *c < 0.01:
		return strconv.FormatFloat(*c, 'g', 2, 64)
	case *c < 100:
		return fmt.Sprintf("%.2f", *c)
	}
	return fmt.Sprintf("%.0f", *c)
}
