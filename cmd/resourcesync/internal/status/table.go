package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// Print prints s for people, in tables.
func (s *Status) Print(to *terminal.Screen, now time.Time) error {
	p := &statusPrinter{now: now}
	s.Health.print(to)
	p.set(&s.Set)
	if at := s.CertificateExpires; !at.IsZero() {
		state := "expires "
		if !at.After(p.now) {
			state = "has expired: "
		}
		p.fact("Certificate", state+p.ago(at))
	}
	p.documents(s)
	for _, place := range s.Published {
		p.fact("Bucket", place.Bucket, place.state(), terminal.Count(place.Documents, "documents"), "last update "+p.ago(place.Last))
	}
	p.push(s)
	if err := to.WriteTable(&p.facts); err != nil {
		return err
	}
	for _, set := range s.Sets {
		fmt.Fprintf(to, "\nSet %s (%s)\n", terminal.Printable(set.Name), terminal.Printable(set.Kind))
		p := &statusPrinter{now: now}
		p.set(&set)
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

// set adds the facts about a set.
func (p *statusPrinter) set(s *Set) {
	switch {
	case s.Uncounted:
		p.fact("Resources", "not counted")
	case s.Files == nil:
		p.fact("Resources", "unknown, because the first scan has not ended")
	default:
		p.fact("Resources", humanize.Comma(*s.Files))
	}
	if !s.Changed.IsZero() {
		p.fact("Last change", p.ago(s.Changed))
	}
	if scan := s.Scan; scan != nil {
		took := time.Duration(scan.Seconds * float64(time.Second)).Round(time.Millisecond)
		if scan.Failed {
			p.fact("Last scan", "failed "+p.ago(scan.Ended))
		} else {
			p.fact("Last scan", p.ago(scan.Ended), "took "+took.String())
		}
		p.fact("", terminal.Count(scan.Created, "created"), terminal.Count(scan.Updated, "updated"), terminal.Count(scan.Deleted, "deleted"), terminal.Count(scan.Unchanged, "unchanged"))
		if scan.Skipped > 0 || scan.Unreadable > 0 {
			p.fact("", terminal.Count(scan.Skipped, "skipped"), terminal.Count(scan.Unreadable, "listed although they cannot be read"))
		}
	}
	if s.Site != nil {
		p.site(s.Site)
	}
	if s.Repository != nil {
		p.repository(s.Repository)
	}
	if j := s.Journal; j != nil {
		p.fact("Journal", "complete since "+timetext.Of(j.Since), "proven "+p.ago(j.Proven))
		if !j.Restarted.IsZero() {
			p.fact("", "began "+p.ago(j.Restarted)+", because "+terminal.Printable(j.Reason))
		}
	}
	if s.Pending != nil {
		p.fact("Pending", fmt.Sprintf("changes that are not listed yet, the oldest for %.1f s", *s.Pending))
	}
	for _, note := range s.Notes {
		p.fact("Note", terminal.Printable(note))
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

// documents adds the facts about the documents of all sets.
func (p *statusPrinter) documents(s *Status) {
	c := s.Source
	p.fact("Documents", terminal.Count(c.Rendered, "rendered"), terminal.Count(c.Hits, "from the cache"), terminal.Count(c.Refused, "refused"), terminal.Count(c.Failed, "failed"))
	p.fact("Packages", terminal.Count(c.Sent, "sent"), terminal.Count(c.Broken, "aborted"))
}

func (p *statusPrinter) site(s *sitemap.Status) {
	p.fact("Sitemaps", terminal.Count(s.Sitemaps, "read"), terminal.Count(s.Unchanged, "unchanged"))
	p.fact("URLs", terminal.Count(s.Foreign, "of other sites"), terminal.Count(s.Invalid, "invalid"), terminal.Count(s.Failed, "failed checks"))
	for _, reason := range slices.Sorted(maps.Keys(s.Withheld)) {
		p.fact("Withheld", humanize.Comma(int64(s.Withheld[reason])), reason)
	}
	if !s.Oldest.IsZero() {
		p.fact("Pages", "all checked again since "+p.ago(s.Oldest))
	}
}

func (p *statusPrinter) repository(s *oaipmh.Status) {
	p.fact("Repository", terminal.Printable(cmp.Or(s.Name, "not known yet")), "deleted records: "+terminal.Printable(cmp.Or(s.DeletedRecord, "not known yet")))
	text := "Complete listing"
	if s.Listing {
		p.fact(text, terminal.Count(s.Records, "of "+humanize.Comma(s.Size)+" records received"))
	} else if !s.Compared.IsZero() {
		p.fact(text, p.ago(s.Compared))
	}
	if s.Unlisted > 0 {
		p.fact("Not listed", webpage.Number(s.Unlisted, "record")+" without a usable URI")
	}
}

// push adds the facts about subscribers.
func (p *statusPrinter) push(s *Status) {
	if h := s.Hub; h != nil {
		p.fact("Subscriptions", subscriptions(h))
		if !h.OldestWaiting.IsZero() {
			p.fact("Oldest waiting", p.ago(h.OldestWaiting))
		}
	}
	if s.WebSockets != nil {
		p.fact("WebSockets", terminal.Count(*s.WebSockets, "connected"))
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
			humanize.Comma(int64(h.Requests)), terminal.Bytes(h.Bytes), documentName(h.Document), behind)
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

// ago returns a time and how long ago it is.
func (p *statusPrinter) ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return timetext.Of(t) + " (" + humanize.RelTime(t, p.now, "ago", "from now") + ")"
}
