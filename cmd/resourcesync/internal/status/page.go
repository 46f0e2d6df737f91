package status

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// JSON is the path of the status for programs. It ignores the Accept header.
const JSON = "/status.json"

// Look is the look of the pages.
var Look = sync.OnceValue(func() *webpage.Look {
	l, err := webpage.New("", webpage.Own{})
	if err != nil {
		panic(err) // only a style sheet of a host can be refused
	}
	return l
})

// A statusView is a status as its page shows it.
type statusView struct {
	*Status
	page       *webpage.Page
	Facts      []webpage.Fact
	Figures    []figures // the state of scans and of the hub
	Totals     []figures // since the start
	Holding    []Set     // the sets whose deletions are held
	Remembers  bool      // harvesters
	Keeps      bool      // harvesters, in the state
	Harvesters []harvesterView
}

// Figures are a section of the page.
type figures struct {
	Name, Text string
	Facts      []webpage.Fact
}

type harvesterView struct {
	Harvester
	Read string // the kind of the last document, in words
	Lag  string // empty if it has read all, or that is unknown
}

// Page returns the page of the status of a site, with a link to the page of its Source.
// remembers says whether harvesters are remembered, and keeps whether the state keeps them.
func (s *Status) Page(site, source string, remembers, keeps bool) ([]byte, error) {
	p := &webpage.Page{
		Title: "Status", Site: site, Home: "/", Now: time.Now(),
		Intro: "What this process publishes, and how it is doing.",
		Nav:   []webpage.Link{{Text: "Source", URL: source}, {Text: "Metrics", URL: "/metrics"}},
		Raw:   JSON, RawType: "application/json",
	}
	v := &statusView{Status: s, page: p, Remembers: remembers, Keeps: keeps, Facts: s.facts(p), Figures: slices.Concat(s.Set.figures(p), s.setFigures(p), s.figures(p)), Totals: s.totals()}
	for _, set := range append([]Set{s.Set}, s.Sets...) {
		if set.Held != nil {
			v.Holding = append(v.Holding, set)
		}
	}
	for _, h := range s.Harvesters {
		view := harvesterView{Harvester: h, Read: document.NameOf(h.Document)}
		if h.Behind != nil && *h.Behind > 0 {
			view.Lag = lag(time.Duration(*h.Behind * float64(time.Second)))
		}
		v.Harvesters = append(v.Harvesters, view)
	}
	return Look().Render(p, v.content())
}

// Facts are the most important figures.
func (s *Status) facts(p *webpage.Page) []webpage.Fact {
	facts := s.Set.facts(p)
	if s.Hub != nil {
		facts = append(facts, webpage.Fact{Name: "Subscriptions", Value: subscriptions(s.Hub)})
	}
	if at := s.CertificateExpires; !at.IsZero() {
		value := "expires " + in(at.Sub(p.Now))
		if !at.After(p.Now) {
			value = "has expired"
		}
		facts = append(facts, webpage.Fact{Name: "Certificate", Value: value, Note: timetext.Of(at)})
	}
	if s.WebSockets != nil {
		facts = append(facts, webpage.Fact{Name: "WebSockets", Value: humanize.Comma(int64(*s.WebSockets))})
	}
	return facts
}

func (s *Set) facts(p *webpage.Page) []webpage.Fact {
	var facts []webpage.Fact
	if s.Files != nil {
		facts = append(facts, webpage.Fact{Name: "Resources", Value: humanize.Comma(*s.Files)})
	} else if s.Uncounted {
		facts = append(facts, webpage.Fact{Name: "Resources", Value: "not counted"})
	} else {
		facts = append(facts, webpage.Fact{Name: "Resources", Value: "unknown", Note: "the first scan has not ended"})
	}
	facts = append(facts, p.Age("Last change", s.Changed)...)
	if c := s.Scan; c != nil && c.Failed {
		facts = append(facts, webpage.Fact{Name: "Last scan", Value: "failed", Note: p.Ago(c.Ended) + ", " + timetext.Of(c.Ended)})
		facts = append(facts, p.Age("Scans have failed since", c.Since)...)
	} else if c != nil {
		facts = append(facts, webpage.Fact{Name: "Last scan", Value: p.Ago(c.Ended), Note: fmt.Sprintf("%s, took %v", timetext.Of(c.Ended), time.Duration(c.Seconds*float64(time.Second)).Round(time.Millisecond))})
	}
	return facts
}

// setFigures are the sections about the sets, if there are several.
func (s *Status) setFigures(p *webpage.Page) []figures {
	var all []figures
	for _, set := range s.Sets {
		facts := set.facts(p)
		text := "A set of the kind " + set.Kind + "."
		for _, f := range set.figures(p) {
			facts = append(facts, f.Facts...)
			if f.Name == "Journal" || f.Name == "Notes" {
				text += " " + f.Text
			}
		}
		all = append(all, figures{set.Name, text, facts})
	}
	return all
}

// figures are the sections about the standby, documents in buckets and the hub.
func (s *Status) figures(p *webpage.Page) []figures {
	var all []figures
	if st := s.Standby; st != nil {
		facts := append([]webpage.Fact{{Name: "State", Value: st.state()}}, numbers("Reads", st.Reads, "Of the primary: standby behind", st.Behind, "Of the primary: standby failed", st.Failed)...)
		all = append(all, figures{"Standby", "The server that lists are read from. The numbers of reads count since the start.", facts})
	}
	for _, place := range s.Published {
		facts := append([]webpage.Fact{{Name: "State", Value: place.state()}}, numbers("Documents", place.Documents, "Written", place.Written, "Removed", place.Removed)...)
		facts = append(facts, p.Age("Last update", place.Last)...)
		all = append(all, figures{"Documents in " + place.Bucket, "The numbers of objects count since the start.", facts})
	}
	if h := s.Hub; h != nil {
		facts := numbers("Waiting", h.Waiting, "Failing", h.Failing, "Expired", h.Expired, "Delivered", h.Deliveries.Delivered,
			"Not delivered", h.Deliveries.Redirected+h.Deliveries.Refused+h.Deliveries.Failed+h.Deliveries.Unanswered, "Given up", h.Deliveries.GivenUp,
			"Requests accepted", h.Requests.Accepted, "Requests refused", h.Requests.Refused+h.Requests.Limited)
		facts = append(facts, p.Age("Oldest waiting notification", h.OldestWaiting)...)
		all = append(all, figures{"Hub and subscribers", "Subscriptions that wait for a notification or fail, and the notifications and requests since the start.", facts})
	}
	return all
}

func (s *Set) figures(p *webpage.Page) []figures {
	var all []figures
	if c := s.Scan; c != nil {
		all = append(all, figures{"Found by the last scan", "Including changes found after that scan.", numbers(
			"Created", c.Created, "Updated", c.Updated, "Deleted", c.Deleted, "Unchanged", c.Unchanged, "Skipped", c.Skipped, "Unreadable", c.Unreadable)})
	}
	if j := s.Journal; j != nil {
		began := p.Age("Started over", j.Restarted)
		for i := range began {
			began[i].Note += ", because " + j.Reason
		}
		all = append(all, figures{"Journal", "Triggers write the changes of the table to a journal.", slices.Concat(p.Age("Complete since", j.Since), p.Age("Proven", j.Proven), began)})
	}
	if len(s.Notes) > 0 {
		all = append(all, figures{"Notes", strings.Join(s.Notes, "; ") + ".", nil})
	}
	if c := s.Site; c != nil {
		facts := numbers("Sitemaps", c.Sitemaps, "Unchanged sitemaps", c.Unchanged, "URLs of other sites", c.Foreign, "Invalid URLs", c.Invalid, "Failed checks", c.Failed)
		for _, reason := range slices.Sorted(maps.Keys(c.Withheld)) {
			facts = append(facts, numbers("Not listed: "+reason, c.Withheld[reason])...)
		}
		facts = append(facts, p.Age("All pages checked again since", c.Oldest)...)
		all = append(all, figures{"Sitemaps", "", facts})
	}
	if r := s.Repository; r != nil {
		facts := append([]webpage.Fact{{Name: "Repository", Value: cmp.Or(r.Name, "not known yet")}, {Name: "Deleted records", Value: cmp.Or(r.DeletedRecord, "not known yet")}},
			numbers("Records in the last harvest", r.Records, "Records without a usable URI", r.Unlisted)...)
		if r.Listing {
			facts = append(facts, webpage.Fact{Name: "Complete listing", Value: "is running", Note: grouped(r.Records) + " of " + grouped(r.Size) + " records"})
		} else {
			facts = append(facts, p.Age("Complete listing", r.Compared)...)
		}
		all = append(all, figures{"Repository", "", facts})
	}
	return all
}

// Totals are the counters of the Source.
func (s *Status) totals() []figures {
	c := s.Source
	documents := numbers("Rendered", c.Rendered, "From the cache", c.Hits, "Refused", c.Refused, "Failed", c.Failed,
		"Packages sent", c.Sent, "Packages aborted", c.Broken, "Entries left out", c.LeftOut, "Fields left out", c.Dropped)
	documents = append(documents, webpage.Fact{Name: "Cache", Value: humanize.Bytes(uint64(c.CacheBytes))}, webpage.Fact{Name: "Plans of packages", Value: humanize.Bytes(uint64(c.PlanBytes))})
	return []figures{{"Documents", "Totals since the start.", documents}}
}

// subscriptions returns the number of subscriptions, and of those that need attention.
func subscriptions(h *hub.Status) string {
	if h.Waiting == 0 && h.Failing == 0 {
		return grouped(h.Subscriptions)
	}
	return fmt.Sprintf("%s (%s waiting, %s failing)", grouped(h.Subscriptions), grouped(h.Waiting), grouped(h.Failing))
}

// numbers returns facts from alternating names and integers.
func numbers(pairs ...any) []webpage.Fact {
	var facts []webpage.Fact
	for i := 0; i < len(pairs); i += 2 {
		facts = append(facts, webpage.Fact{Name: pairs[i].(string), Value: grouped(pairs[i+1])})
	}
	return facts
}

func grouped(n any) string {
	switch n := n.(type) {
	case int:
		return humanize.Comma(int64(n))
	case int64:
		return humanize.Comma(n)
	default:
		return humanize.Comma(int64(n.(uint64)))
	}
}

// Lag returns a duration in words.
func lag(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"day", settings.Day}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if n := int64(d / unit.of); n > 1 {
			return fmt.Sprintf("%s %ss", humanize.Comma(n), unit.name)
		} else if n == 1 {
			return "1 " + unit.name
		}
	}
	return "less than a minute"
}

// channelName returns the name of a channel.
func channelName(c resourcesync.Capability) string { return document.NameOf(string(c)) + "s" }
