package pages

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

// Counts are the numbers of changes of each hour, by the Unix time at which it begins.
type Counts map[int64]*[3]int

// types are the types of changes in the order of [Counts].
var types = [3]resourcesync.ChangeType{resourcesync.Created, resourcesync.Updated, resourcesync.Deleted}

// Add counts a change.
func (c Counts) Add(change *resourcesync.Change) {
	hour := change.Datetime.Truncate(time.Hour).Unix()
	if c[hour] == nil {
		c[hour] = new([3]int)
	}
	for i, t := range types {
		if t == change.Type {
			c[hour][i]++
		}
	}
}

// Join adds the counts of another set.
func (c Counts) Join(other Counts) {
	for hour, counts := range other {
		if c[hour] == nil {
			c[hour] = new([3]int)
		}
		for i, n := range counts {
			c[hour][i] += n
		}
	}
}

// A Timeline is a bar chart of the changes of hours or days, and the same as a table.
type Timeline struct {
	Title string
	Total [3]int // created, updated, deleted
	Bars  []Bar

	// Note says for which part of the time changes have been counted, if not for all.
	Note string

	svg string
}

// A Bar is the changes of an hour or a day.
type Bar struct {
	Label  string
	Counts [3]int
}

// The layout of a chart, in its own units.
const (
	chartWidth, chartHeight = 480, 150
	plotTop, plotBottom     = 14, 128
)

// NewTimeline returns the timeline of n bars, each of an hour or a day, the last of which
// contains now. Changes have been counted since a time.
func NewTimeline(counts Counts, bar time.Duration, n int, now, since time.Time) *Timeline {
	unit, format := "hour", "15:00"
	if bar == 24*time.Hour {
		unit, format = "day", "2 Jan"
	}
	t := &Timeline{Title: fmt.Sprintf("Changes per %s, the last %d %ss (UTC)", unit, n, unit), Bars: make([]Bar, n)}
	first := now.UTC().Truncate(bar).Add(-time.Duration(n-1) * bar)
	if since.After(first) {
		t.Note = "Counted since " + timetext.Of(since) + "."
	}
	for i := range t.Bars {
		begin := first.Add(time.Duration(i) * bar)
		t.Bars[i].Label = begin.Format(format)
		for h := begin; h.Before(begin.Add(bar)); h = h.Add(time.Hour) {
			if c := counts[h.Unix()]; c != nil {
				for k := range types {
					t.Bars[i].Counts[k] += c[k]
					t.Total[k] += c[k]
				}
			}
		}
	}
	t.svg = t.draw()
	return t
}

func (b *Bar) sum() int { return b.Counts[0] + b.Counts[1] + b.Counts[2] }

// Sum returns the number of all changes of t.
func (t *Timeline) Sum() int { return t.Total[0] + t.Total[1] + t.Total[2] }

// draw returns the chart. Its text consists of numbers and dates alone.
func (t *Timeline) draw() string {
	highest := 1
	for i := range t.Bars {
		highest = max(highest, t.Bars[i].sum())
	}
	label := "no changes"
	if t.Sum() > 0 {
		label = humanize.Comma(int64(highest))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s: %d created, %d updated, %d deleted">`,
		chartWidth, chartHeight, t.Title, t.Total[0], t.Total[1], t.Total[2])
	fmt.Fprintf(&b, `<path class="axis" d="M0 %d.5H%d"/><path class="grid" d="M0 %d.5H%d"/><text x="0" y="10">%s</text>`,
		plotBottom, chartWidth, plotTop, chartWidth, label)
	slot := float64(chartWidth) / float64(len(t.Bars))
	every := max(1, len(t.Bars)/6)
	for i := range t.Bars {
		t.Bars[i].draw(&b, float64(i)*slot, slot, highest)
		if (len(t.Bars)-1-i)%every == 0 {
			x, anchor := float64(i)*slot+slot/2, "middle"
			if i == len(t.Bars)-1 {
				x, anchor = chartWidth, "end"
			}
			fmt.Fprintf(&b, `<text x="%.1f" y="145" text-anchor="%s">%s</text>`, x, anchor, t.Bars[i].Label)
		}
	}
	b.WriteString(`</svg>`)
	return b.String()
}

// draw draws b into the slot at x.
func (b *Bar) draw(out *strings.Builder, x, slot float64, highest int) {
	if b.sum() == 0 {
		return
	}
	fmt.Fprintf(out, `<g><title>%s: %d created, %d updated, %d deleted</title>`, b.Label, b.Counts[0], b.Counts[1], b.Counts[2])
	y := float64(plotBottom)
	for k, n := range b.Counts {
		if n == 0 {
			continue
		}
		h := max(float64(n)/float64(highest)*(plotBottom-plotTop), 2)
		y -= h
		fmt.Fprintf(out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"/>`, types[k], x+slot*.15, y, slot*.7, h)
	}
	out.WriteString(`</g>`)
}
