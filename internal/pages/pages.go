// Package pages renders the documents of a Source as HTML pages for people, and decides
// which requests come from people. It knows the data of the pages, but not how it is
// gathered.
package pages

import (
	"embed"
	"html/template"
	"io/fs"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

//go:embed all:templates
var embedded embed.FS

// New returns the templates of the pages. A file of replace, which may be nil, replaces the
// built-in one with the same name. They are tried, so that their faults are found at the start and
// not when a page is opened.
func New(replace fs.FS) (*webpage.Templates, error) {
	files, err := fs.Sub(embedded, "templates")
	if err != nil {
		return nil, err
	}
	t, err := webpage.New(files, replace)
	if err != nil || replace == nil {
		return t, err
	}
	return t, try(t)
}

// Rows is the number of rows of a list on one page, and Budget the bytes that they may take
// together: a page stays below 100 KB.
const (
	Rows   = 150
	Budget = 84_000
)

// A Data is the content of a page. Its template has the name that Template returns.
type Data interface{ Template() string }

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

// A Cell is a cell of a List.
type Cell struct {
	HTML      template.HTML // the begin tag, and a time, a badge or a text
	URL, Text string        // a link; may be empty
	Foreign   bool          // the link leads to a resource, not to a document
	At        time.Time     // of the time
}

// Time returns the cell of a time, which may be zero.
func Time(at time.Time) Cell { return Cell{HTML: webpage.Time(at), At: at} }

// Words returns the cell of a text.
func Words(text string) Cell {
	return Cell{HTML: template.HTML(template.HTMLEscapeString(text))} //nolint:gosec // escaped
}

// Badge returns the cell of a badge with a word.
func Badge(word string) Cell {
	word = template.HTMLEscapeString(word)
	return Cell{HTML: template.HTML(`<span class="badge ` + word + `">` + word + `</span>`)} //nolint:gosec // escaped
}

// A ChannelPage is the page of a channel.
type ChannelPage struct {
	Facts   []webpage.Fact
	Channel Channel
	Harvest Harvest
}

// An Error is the page of a request that cannot be answered.
type Error struct {
	Text  string
	ID    string // of the request
	Index string // URL of the page where to continue; may be empty
}

// Summary returns the beginning of the description.
func (s Set) Summary() string { return beginning(s.Description, 200) }

func (Source) Template() string      { return "source" }
func (SetPage) Template() string     { return "set" }
func (List) Template() string        { return "list" }
func (ChannelPage) Template() string { return "channel" }
func (Error) Template() string       { return "error" }
