package view

import (
	"net/url"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A table is how pages show the entries of a form of documents.
type table struct {
	noun    string
	columns []column
	rows    int // the maximum on a page
	intro   string
	empty   string
}

// A column is a column of a table, and how its cells follow from entries.
type column struct {
	webpage.Column
	cell func(entry) webpage.Cell
}

// col returns a column.
func col(name, class string, cell func(entry) webpage.Cell) column {
	return column{webpage.Column{Name: name, Class: class}, cell}
}

// An entry is an entry of the document of a page, and its number.
type entry struct {
	*View
	*rsxml.Entry
	n int
}

// packagesOnPage is the number of packages on a page of a dump. The length of a package that
// is shown for the first time is computed from its entries, as for the XML.
const packagesOnPage = 50

var (
	resources = &table{"resource", []column{
		col("Resource", "uri", entry.resource),
		col("Last modified", "fit", func(e entry) webpage.Cell { return at(e.LastMod) }),
		col("Size", "number", entry.size),
		col("Type", "wide", entry.mediaType),
		col("Checksum", "wide uri fit", entry.checksum),
	}, pages.Rows, "", "No resources here."}

	changes = &table{"change", []column{
		col("Time", "fit", func(e entry) webpage.Cell { return at(e.Metadata.Datetime) }),
		col("Change", "fit", func(e entry) webpage.Cell { return badge(string(e.Metadata.Change)) }),
		col("Resource", "uri", entry.resource),
		col("Size", "number wide", entry.size),
		col("Type", "wide", entry.mediaType),
	}, pages.Rows, "", "No changes here."}

	// The documents of an index.
	lists, dumps             = documents("list", "List"), documents("dump", "Dump")
	changeLists, changeDumps = windows("list"), windows("dump")

	resourcePackages = &table{"package", []column{
		col("Package", "", func(e entry) webpage.Cell { return e.numbered("Package") }),
		col("Size", "number", entry.size),
		col("Last change", "wide", func(e entry) webpage.Cell { return at(e.LastMod) }),
		col("Contents", "", entry.manifest),
	}, packagesOnPage, "The content of the set in ZIP packages. They are made while they are sent, and a download can be resumed.", "No packages here."}

	changePackages = &table{"package", []column{
		col("Package from", "", entry.from),
		col("Until", "", entry.until),
		col("Size", "number", entry.size),
		col("Contents", "", entry.manifest),
	}, packagesOnPage, "The content of changes in ZIP packages, the newest first.", "No package has been closed yet. The first changes appear here when the first package is closed."}

	snapshots = archive("As of", "Completed")
	spans     = archive("From", "Until")
)

// documents returns the table of an index of documents, which have numbers and are called noun, or Name
// at the beginning of a line.
func documents(noun, name string) *table {
	return &table{noun, []column{
		col(name, "", func(e entry) webpage.Cell { return e.numbered(name) }),
		col("Last change", "", func(e entry) webpage.Cell { return at(e.LastMod) }),
	}, pages.Rows, "", "No " + noun + "s here."}
}

// windows returns the table of an index of documents with intervals.
func windows(noun string) *table {
	return &table{noun, []column{col("From", "", entry.from), col("Until", "", entry.until),
		col("State", "", entry.state)}, pages.Rows, "", "No " + noun + "s here."}
}

// archive returns the table of an archive, whose documents have a time and an end with these names.
func archive(time, end string) *table {
	return &table{"document", []column{
		col("Document", "uri", func(e entry) webpage.Cell {
			return webpage.Cell{Text: pages.Text(e.Loc, e.site.Routes.Origin), URL: e.Loc}
		}),
		col(time, "", func(e entry) webpage.Cell { return at(later(e.Metadata.At, e.Metadata.From)) }),
		col(end, "", func(e entry) webpage.Cell { return at(later(e.Metadata.Completed, e.Metadata.Until)) }),
	}, pages.Rows, "Documents of earlier times, the oldest first.", "The archive is empty."}
}

// tableOf returns the table of a document with the head h.
func tableOf(h *rsxml.Head) *table {
	c := h.Metadata.Capability
	switch {
	case h.Index && c == resourcesync.ResourceDump:
		return dumps
	case h.Index && c == resourcesync.ChangeDump:
		return changeDumps
	case h.Index && !h.Metadata.From.IsZero():
		return changeLists
	case h.Index:
		return lists
	case c == resourcesync.ResourceDump:
		return resourcePackages
	case c == resourcesync.ChangeDump:
		return changePackages
	case c == resourcesync.ChangeList, c == resourcesync.ChangeDumpManifest:
		return changes
	case document.IsOfSpans(c):
		return spans
	case strings.HasSuffix(string(c), "-archive"):
		return snapshots
	}
	return resources
}

// head returns the header row of t.
func (t *table) head() []webpage.Column {
	out := make([]webpage.Column, len(t.columns))
	for i, c := range t.columns {
		out[i] = c.Column
	}
	return out
}

// row returns the row of e, and about the number of its bytes in a page.
func (t *table) row(e entry) (row []webpage.Cell, size int) {
	for _, c := range t.columns {
		cell := c.cell(e)
		row, size = append(row, cell), size+pages.Size(&cell)
	}
	return row, size
}

func (e entry) resource() webpage.Cell {
	return webpage.Cell{Text: pages.Text(e.Loc, e.site.Routes.Origin), URL: e.Loc, Foreign: true}
}

func (e entry) numbered(noun string) webpage.Cell {
	return webpage.Cell{Text: noun + " " + humanize.Comma(int64(e.n)), URL: e.pageOf(e.Loc)}
}

func (e entry) from() webpage.Cell {
	return webpage.Cell{Text: timetext.Of(e.Metadata.From), URL: e.pageOf(e.Loc)}
}

func (e entry) until() webpage.Cell { return at(e.Metadata.Until) }

func (e entry) state() webpage.Cell {
	if e.Metadata.Until.IsZero() {
		return badge("open")
	}
	return badge("closed")
}

// at returns the cell of a time, which may be zero.
func at(t time.Time) webpage.Cell { return webpage.Cell{At: t} }

func badge(word string) webpage.Cell { return webpage.Cell{Text: word, Badge: true} }

func (e entry) size() webpage.Cell {
	if n, ok := e.Metadata.Length.Bytes(); ok {
		return webpage.Cell{Text: humanize.Bytes(uint64(n))}
	}
	return webpage.Cell{}
}

func (e entry) mediaType() webpage.Cell { return webpage.Cell{Text: pages.Short(e.Metadata.Type, 60)} }

func (e entry) checksum() (c webpage.Cell) {
	for _, h := range e.Metadata.Hashes {
		c.Text = h.Algorithm + ":" + pages.Short(h.Digest, 9)
	}
	return c
}

func (e entry) manifest() webpage.Cell {
	return webpage.Cell{Text: "Manifest", URL: e.pageOf(e.Links[0].Href)}
}

// later returns the time that is not zero.
func later(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// pageOf returns the URL of the page of a document of the Source, and any other URL as it is.
func (s *Views) pageOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || !strings.HasPrefix(uri, s.site.Routes.Origin) {
		return uri
	}
	t, ok := s.site.Routes.Match(u.Path, s.site.Sets)
	if !ok || t.Kind.Page == nil {
		return uri
	}
	return s.site.Routes.URL(t.Kind.Page.Name, t.Set, t.Part)
}
