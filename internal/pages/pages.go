// Package pages renders the documents of a Source as HTML pages for people, and decides
// which requests come from people. It knows the data of the pages, but not how it is
// gathered.
package pages

import (
	_ "embed" // the script

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

// A Page is the content of the page of a document: parts in the order in which it has them. Parts
// that are zero are not shown.
type Page struct {
	Contact     webpage.Link
	DescribedBy string // URL of further information
	Facts       []webpage.Fact
	Search      *Search
	Links       []webpage.Link
	Sets        []Set
	Table       webpage.Table // of documents, or of the entries of the document
	Pager       webpage.Pager // leads to further sets or entries
	Recent      *Recent
	Channels    []Channel
	Harvest     []Step   // how to harvest, in commands
	Live        []string // URLs of WebSockets with new changes
}

// A Set is a set in the list of a Source.
type Set struct {
	Name, URL    string
	Description  string
	State        string // size and freshness, in words
	Capabilities []webpage.Link
}

// A Channel is a notification channel. On its own page, it has no name.
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
	Changes     webpage.Table
	All         []webpage.Link // the pages of recent changes of the sets
}

// A Step is a command and its effect.
type Step struct{ Text, Command string }

// A Search is a field that searches a list by the beginning of the keys.
type Search struct {
	URL    string // of the results
	Name   string // of what begins with the value
	Before string // what is before the keys in the URIs
	Value  string
}

// An Error is the page of a request that cannot be answered.
type Error struct {
	Text  string
	ID    string // of the request
	Index string // URL of the page where to continue; may be empty
}
