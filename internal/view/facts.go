package view

import (
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// countFact returns the fact of a number, or none if it is unknown.
func countFact(name string, n int64) []webpage.Fact {
	if n < 0 {
		return nil
	}
	return []webpage.Fact{{Name: name, Value: humanize.Comma(n)}}
}

// ageFact returns the fact of a time, or none if it is unknown.
func (v *View) ageFact(name string, at time.Time) []webpage.Fact {
	p := webpage.Page{Now: v.now}
	return p.Age(name, at)
}

// intervalFacts says which interval a list of changes covers.
func intervalFacts(from, until time.Time) []webpage.Fact {
	facts := []webpage.Fact{timeFact("From", from), {Name: "Until", Value: "Open", Note: "new changes are added"}}
	if from.Unix() <= 0 {
		facts[0].Value = "The beginning"
	}
	if !until.IsZero() {
		facts[1] = timeFact("Until", until)
	}
	return facts
}

// timeFact returns the fact of a time.
func timeFact(name string, at time.Time) webpage.Fact {
	return webpage.Fact{Name: name, Value: timetext.Of(at)}
}

// pushFact says how changes are pushed.
func (s *Views) pushFact() webpage.Fact {
	var by []string
	if slices.ContainsFunc(s.site.Order, func(st *document.Set) bool { return len(st.Hubs) > 0 }) {
		by = append(by, "WebSub")
	}
	if s.site.Sockets {
		by = append(by, "WebSocket")
	}
	if len(by) == 0 {
		return webpage.Fact{Name: "Push", Value: "None", Note: "poll the Change List"}
	}
	return webpage.Fact{Name: "Push", Value: strings.Join(by, ", "), Note: "within about a second"}
}
