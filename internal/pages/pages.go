// Package pages renders the documents of a Source as HTML pages for people, and decides
// which requests come from people. It knows the data of the pages, but not how it is
// gathered.
package pages

import (
	_ "embed" // the script
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

//go:embed script.js
var script string

// New returns the look of the pages, with what the host adds to it.
func New(own webpage.Own) (*webpage.Look, error) { return webpage.New(script, own) }

// Rows is the number of rows of a list on one page, and Budget the bytes that they may take
// together: a page stays below 100 KB.
const (
	Rows   = 150
	Budget = 84_000
)

// A Source is the page of a Source Description.
type Source struct {
	About   About
	Facts   []webpage.Fact
	Sets    []Set
	Pager   webpage.Pager
	Recent  *Recent // of the sets on the page; nil without a journal
	Harvest Harvest
}

// An About is where to learn more about a Source or a set. URLs that are empty are not shown.
type About struct {
	Contact     webpage.Link
	DescribedBy string // URL
}

// A Set is a set in the list of a Source.
type Set struct {
	Name, URL    string
	Description  string
	Resources    string // their number in words; empty if unknown
	Newest       time.Time
	State        string // why it has no content at the moment, in words; usually empty
	Capabilities []webpage.Link
}

// A SetPage is the page of a Capability List.
type SetPage struct {
	About     About
	Facts     []webpage.Fact
	Documents []Document
	Recent    *Recent // nil without a journal
	Channels  []Channel
	Harvest   Harvest
}

// A Document is a document of a set, as its Capability List names it.
type Document struct {
	Name, URL, XML string
	Purpose        string
	State          string // size, freshness, and the next document, in words
}

// A Channel is a notification channel.
type Channel struct {
	Name, URL, Topic string
	Purpose          string
	WebSocket        string // URL; empty without WebSockets
	Published        int64  // notifications up to now
	Hubs             []Hub
}

// A Hub is a hub of a channel. It has nothing that only operators may see.
type Hub struct {
	URI   string
	Class string // of a badge
	State string // in words
}

// A Recent holds the latest changes of one or several sets.
type Recent struct {
	Hours, Days *Timeline
	Changes     []Change
	Since       time.Time      // when the journals begin; zero if unknown
	All         []webpage.Link // the pages of recent changes of the sets
	Live        []string       // URLs of WebSockets with the notifications; empty without
}

// A Harvest is how to harvest a Source or a set, in commands.
type Harvest struct{ Steps []Step }

// A Step is a command and its effect.
type Step struct{ Text, Command string }

// A Search is a field that searches a list by the beginning of the keys.
type Search struct {
	URL    string // of the results
	Name   string // of what begins with the value
	Before string // what is before the keys in the URIs
	Value  string
}

// A Change is a row of the latest changes.
type Change struct {
	URI, Text string
	Type      resourcesync.ChangeType
	Datetime  time.Time
}

// A List is the page of a document that lists resources, changes, documents or packages.
type List struct {
	Facts   []webpage.Fact
	Search  *Search // nil if the list cannot be searched
	Links   []webpage.Link
	Columns []webpage.Column
	Rows    [][]Cell
	Pager   webpage.Pager
	Caption string
	Empty   string   // what an empty list means
	Live    []string // URLs of WebSockets with the notifications; empty without
}

// A Cell is a cell of a List: a link, a badge, a text or a time.
type Cell struct {
	URL, Text string
	Foreign   bool // URL leads to a resource, not to a document
	Badge     bool // Text is the word of a badge
	At        time.Time
}

// A ChannelPage is the page of a channel.
type ChannelPage struct {
	Channel Channel
	Harvest Harvest
}

// An Error is the page of a request that cannot be answered.
type Error struct {
	Text  string
	ID    string // of the request
	Index string // URL of the page where to continue; may be empty
}

// about returns the sentence about a set in the list of a Source, which has others unless it is alone.
func (s *Set) about(alone bool, now time.Time) string {
	switch {
	case s.State != "":
		return s.State
	case alone:
		return "Its documents, in the order in which a harvester needs them:"
	}
	var parts []string
	if s.Resources != "" {
		parts = append(parts, s.Resources)
	}
	if !s.Newest.IsZero() {
		p := webpage.Page{Now: now}
		parts = append(parts, "changed "+p.Ago(s.Newest))
	}
	return strings.Join(parts, " · ")
}
