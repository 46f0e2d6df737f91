package status

import (
	"fmt"
	"net/url"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// A CopyStatus describes a copy for operators.
type CopyStatus struct {
	Health
	Copy Copy `json:"copy"`
}

// A Copy is what a process that keeps a copy in step knows about it.
type Copy struct {
	destination.Status

	// BehindSeconds is 0 if the last run has left nothing to do, and otherwise the time since the
	// copy was in sync. It is nil if that is unknown.
	BehindSeconds *float64 `json:"behindSeconds,omitempty"`

	// Dir is the folder or bucket of the copy, and Release the command that deletes the resources
	// whose deletions are held.
	Dir     string `json:"dir"`
	Release string `json:"-"`
}

// Measure sets BehindSeconds.
func (c *Copy) Measure(now time.Time) {
	switch {
	case c.InSync.IsZero():
		c.BehindSeconds = nil
	case c.Failures == 0 && c.Behind == 0:
		c.BehindSeconds = new(float64)
	default:
		c.BehindSeconds = new(now.Sub(c.InSync).Seconds())
	}
}

// A copyView is a copy as its page shows it.
type copyView struct {
	*CopyStatus
	page    *webpage.Page
	Facts   []webpage.Fact
	Figures []figures
}

// Page returns the page of the status of a copy.
func (s *CopyStatus) Page() ([]byte, error) {
	c := &s.Copy
	p := &webpage.Page{
		Title: "Copy", Site: host(c.Source), Home: "/", Now: time.Now(),
		Intro: "What this process copies, and how far behind the copy is.",
		Nav:   []webpage.Link{{Text: "Source", URL: c.Source}, {Text: "Metrics", URL: "/metrics"}},
		Raw:   JSON, RawType: "application/json",
	}
	v := &copyView{CopyStatus: s, page: p, Facts: c.facts(p), Figures: c.figures(p)}
	return Look().Render(p, v.content())
}

func host(source string) string {
	u, err := url.Parse(source)
	if err != nil {
		return source
	}
	return u.Host
}

// behind says how far behind the copy is.
func (c *Copy) behind() (text, note string) {
	switch changes := webpage.Number(c.Behind, "change"); {
	case c.InSync.IsZero() && c.Last == nil:
		return changes, "so far; the first run has not ended"
	case c.InSync.IsZero() && c.Behind == 0:
		return "unknown", "because no run of this process has succeeded"
	case c.InSync.IsZero():
		return changes, "or more; no run of this process has succeeded"
	case *c.BehindSeconds == 0:
		return "nothing", ""
	case c.Behind == 0:
		return "unknown", "because the last run failed"
	default:
		return changes, ""
	}
}

func (c *Copy) facts(p *webpage.Page) []webpage.Fact {
	facts := p.Age("In sync", c.InSync)
	if facts == nil {
		facts = []webpage.Fact{{Name: "In sync", Value: "not since the start of this process"}}
	}
	text, note := c.behind()
	facts = append(facts, webpage.Fact{Name: "Behind", Value: text, Note: note},
		webpage.Fact{Name: "Resources", Value: humanize.Comma(c.Resources)}, webpage.Fact{Name: "Size", Value: humanize.Bytes(uint64(c.Bytes))})
	facts = append(facts, p.Age("Has read changes up to", c.Until)...)
	switch {
	case !c.Began.IsZero():
		facts = append(facts, webpage.Fact{Name: "Next run", Value: "is running", Note: "since " + timetext.Of(c.Began)})
	case !c.Next.IsZero():
		facts = append(facts, webpage.Fact{Name: "Next run", Value: in(c.Next.Sub(p.Now)), Note: timetext.Of(c.Next)})
	}
	return facts
}

func (c *Copy) figures(p *webpage.Page) (all []figures) {
	if g := c.Progress; !c.Began.IsZero() {
		all = append(all, figures{"This run", "", append(numbers("Entries read", g.Listed, "To do", max(g.Pending, 0), "Done", g.Done), webpage.Fact{Name: "Received", Value: humanize.Bytes(uint64(g.Bytes))})})
	}
	if r := c.Last; r != nil {
		facts := p.Age("Ended", c.Ended)
		facts = append(facts, numbers("Created", r.Created, "Updated", r.Updated, "Deleted", r.Deleted, "Not copied", r.Failed)...)
		facts = append(facts, webpage.Fact{Name: "Received", Value: humanize.Bytes(uint64(r.Received))})
		for _, more := range []struct {
			name string
			n    int64
		}{{"Packages", r.Packages}, {"Unused parts of dumps", r.Unused}, {"Cannot be verified", r.Unverifiable}, {"Deviations", r.Deviations}} {
			if more.n > 0 {
				facts = append(facts, webpage.Fact{Name: more.name, Value: humanize.Comma(more.n)})
			}
		}
		all = append(all, figures{"Last run", "", facts})
	}
	return all
}

// Print prints s for people, in tables.
func (s *CopyStatus) Print(to *terminal.Screen, now time.Time) error {
	s.Health.print(to)
	c, p := &s.Copy, &statusPrinter{now: now}
	p.fact("Source", c.Source)
	p.fact("Copy", c.Dir)
	page := &webpage.Page{Now: now}
	p.sections(c.facts(page), c.figures(page))
	if r := c.Last; r != nil {
		if r.Held > 0 {
			p.fact("Held deletions", humanize.Comma(r.Held))
		}
		for _, pause := range r.Pauses {
			p.fact("Pause", pause.Host, "until "+timetext.Of(pause.Until))
		}
	}
	tables := []*terminal.Table{&p.facts}
	if r := c.Last; r != nil && len(r.Gone) > 0 {
		tables = append(tables, gone(r.Gone))
	}
	if r := c.Last; r != nil && len(r.Failures) > 0 {
		tables = append(tables, failures(r.Failures))
	}
	if len(c.Channels) > 0 {
		tables = append(tables, p.channels(c.Channels))
	}
	for i, table := range tables {
		if i > 0 {
			fmt.Fprintln(to)
		}
		if err := to.WriteTable(table); err != nil {
			return err
		}
	}
	return nil
}

// gone returns the table of the sets that the Source no longer names.
func gone(sets []destination.GoneSet) *terminal.Table {
	var t terminal.Table
	t.Header("SET NO LONGER NAMED", ">RESOURCES", "STATE")
	for _, set := range sets {
		state := set.Reason
		if set.Held {
			state = "held"
		}
		t.Row(set.URI, humanize.Comma(set.Resources), state)
	}
	return &t
}

// failures returns the table of the first resources that the last run did not copy.
func failures(failures []destination.Failure) *terminal.Table {
	var t terminal.Table
	t.Header("NOT COPIED", "NOT BEFORE", "ERROR")
	for _, f := range failures {
		next := ""
		if !f.Next.IsZero() {
			next = timetext.Of(f.Next)
		}
		t.Cells(terminal.Cell{Text: f.URI}, terminal.Cell{Text: next}, terminal.Cell{Text: f.Error, Style: terminal.Red})
	}
	return &t
}

// channels returns the table of the channels of a copy.
func (p *statusPrinter) channels(channels []destination.ChannelStatus) *terminal.Table {
	var t terminal.Table
	t.Header("CHANNEL", "BY", "STATE", ">RECEIVED", "LAST", "ADDRESS", "ERROR")
	for _, c := range channels {
		state := terminal.Cell{Text: "open", Style: terminal.Green}
		if !c.Open {
			state = terminal.Cell{Text: "closed", Style: terminal.Red}
		}
		last := "-"
		if !c.Last.IsZero() {
			last = humanize.RelTime(c.Last, p.now, "ago", "from now")
		}
		t.Cells(terminal.Cell{Text: channelName(c.Capability)}, terminal.Cell{Text: c.By}, state,
			terminal.Cell{Text: humanize.Comma(c.Received)}, terminal.Cell{Text: last}, terminal.Cell{Text: c.Address}, terminal.Cell{Text: c.Error, Style: terminal.Red})
	}
	return &t
}

// in returns the time until something happens, in words.
func in(d time.Duration) string {
	if d <= 0 {
		return "now"
	}
	return "in " + lag(d)
}
