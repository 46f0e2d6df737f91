package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// Print prints s for people, in tables.
func (s *Status) Print(to *terminal.Screen, now time.Time) error {
	p, page := &statusPrinter{now: now}, &webpage.Page{Now: now}
	s.Health.print(to)
	p.sections(s.facts(page), s.Set.figures(page))
	p.waiting(&s.Set)
	p.sections(nil, append(s.totals(), s.figures(page)...))
	if err := to.WriteTable(&p.facts); err != nil {
		return err
	}
	for _, set := range s.Sets {
		fmt.Fprintf(to, "\nSet %s (%s)\n", terminal.Printable(set.Name), terminal.Printable(set.Kind))
		p := &statusPrinter{now: now}
		p.sections(set.facts(page), set.figures(page))
		p.waiting(&set)
		if err := to.WriteTable(&p.facts); err != nil {
			return err
		}
	}
	if s.Push != nil && len(s.Push.Topics) > 0 {
		fmt.Fprintln(to)
		if err := to.WriteTable(p.topics(s)); err != nil {
			return err
		}
	}
	if len(s.Subscriptions) > 0 {
		fmt.Fprintln(to)
		if err := to.WriteTable(p.subscriptions(s)); err != nil {
			return err
		}
	}
	if len(s.Harvesters) == 0 {
		return nil
	}
	fmt.Fprintln(to)
	return to.WriteTable(p.harvesters(s))
}

func (h *Health) print(to *terminal.Screen) {
	if h.Healthy {
		fmt.Fprintln(to, to.Paint(terminal.Green, "Healthy"))
	} else {
		fmt.Fprintln(to, to.Paint(terminal.Red, "Problems"))
		for _, problem := range h.Problems {
			fmt.Fprintln(to, "  "+terminal.Printable(problem))
		}
	}
	fmt.Fprintln(to)
}

// A statusPrinter makes the tables of a status.
type statusPrinter struct {
	now   time.Time
	facts terminal.Table
}

func (p *statusPrinter) fact(name string, texts ...string) {
	p.facts.Cells(terminal.Cell{Text: name, Style: terminal.Bold}, terminal.Cell{Text: strings.Join(texts, ", ")})
}

// sections adds facts, and lines for the sections of a page.
func (p *statusPrinter) sections(facts []webpage.Fact, sections []figures) {
	for _, f := range facts {
		p.fact(f.Name, textOf(f))
	}
	for _, s := range sections {
		var texts []string
		for _, f := range s.Facts {
			texts = append(texts, f.Name+" "+textOf(f))
		}
		if len(texts) == 0 {
			p.fact(s.Name, s.Text)
		}
		for line := range slices.Chunk(texts, 4) {
			p.fact(s.Name, line...)
			s.Name = ""
		}
	}
}

func textOf(f webpage.Fact) string {
	if f.Note == "" {
		return f.Value
	}
	return f.Value + " (" + f.Note + ")"
}

// waiting adds the changes of a set that are not listed yet.
func (p *statusPrinter) waiting(s *Set) {
	if s.Pending != nil {
		p.fact("Pending", fmt.Sprintf("changes that are not listed yet, the oldest for %.1f s", *s.Pending))
	}
	if h := s.Held; h != nil {
		until := "until they are confirmed"
		switch {
		case h.Confirmed:
			until = "confirmed: the next scan publishes them"
		case !h.Until.IsZero():
			until = "until " + timetext.Of(h.Until)
		}
		p.fact("Held deletions", humanize.Comma(h.Files), "since "+timetext.Of(h.Since), until)
	}
}

// topics returns the progress of each hub on each topic.
func (p *statusPrinter) topics(s *Status) *terminal.Table {
	var t terminal.Table
	t.Header("TOPIC", ">NEWEST", "HUB", ">BEHIND", ">FAILURES", ">LOST", "ERROR")
	for _, topic := range s.Push.Topics {
		row := []terminal.Cell{{Text: topic.Topic}, {Text: humanize.Comma(topic.Newest)}}
		if len(topic.Hubs) == 0 || topic.Error != "" {
			t.Cells(append(row, terminal.Cell{}, terminal.Cell{}, terminal.Cell{}, terminal.Cell{}, terminal.Cell{Text: topic.Error, Style: terminal.Red})...)
		}
		for _, h := range topic.Hubs {
			failures := terminal.Cell{Text: humanize.Comma(int64(h.Failures))}
			if h.Failures > 0 {
				failures.Style = terminal.Yellow
			}
			t.Cells(append(slices.Clip(row), terminal.Cell{Text: h.Hub}, terminal.Cell{Text: humanize.Comma(h.Behind)}, failures,
				terminal.Cell{Text: humanize.Comma(h.Lost)}, terminal.Cell{Text: cmp.Or(h.LastError, h.RefusedError), Style: terminal.Red})...)
		}
	}
	return &t
}

// harvesters returns the table of the clients that requested documents last.
func (p *statusPrinter) harvesters(s *Status) *terminal.Table {
	var t terminal.Table
	t.Header("HARVESTER", "ADDRESS", "LAST REQUEST", ">REQUESTS", ">BYTES", "DOCUMENT", "BEHIND")
	for _, h := range s.Harvesters {
		behind := "unknown"
		switch {
		case h.Behind == nil:
		case h.InSync:
			behind = "in sync"
		case *h.Behind == 0:
			behind = "has read all"
		default:
			behind = lag(time.Duration(*h.Behind * float64(time.Second)))
		}
		address := h.Address
		if h.NameFirstAt != "" {
			address += " (name first at " + h.NameFirstAt + ")"
		}
		t.Row(cmp.Or(h.Name, shortened(h.Agent), "-"), address, humanize.RelTime(h.Last, p.now, "ago", "from now"),
			humanize.Comma(int64(h.Requests)), terminal.Bytes(h.Bytes), document.NameOf(h.Document), behind)
	}
	return &t
}

// maxColumn is the maximum length of a text that clients choose, in characters. JSON has
// all of it.
const maxColumn = 40

func shortened(text string) string {
	if runes := []rune(text); len(runes) > maxColumn {
		return string(runes[:maxColumn-1]) + "…"
	}
	return text
}
