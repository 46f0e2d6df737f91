// Package view gathers what the HTML pages of documents show. Each document of a kind that has a
// page is shown at its own URL to browsers, and at the URL that ends in .html to everyone.
package view

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
	"github.com/resourcesync-go/resourcesync/topic"
)

// A Views renders the HTML pages of the documents of a site. A page reads what it shows, and
// not what its document lists: its cost does not depend on the length of a list.
type Views struct {
	Look    *webpage.Look
	site    *document.Site
	hub     string // the URI of the Source's own hub, or empty
	status  func(context.Context) (topic.Status, error)
	recents map[*document.Set]*atomic.Pointer[recent]
	fields  map[*document.Set]*atomic.Pointer[field]
}

// A recent is a snapshot of the end of a journal. It is immutable.
type recent struct {
	version string // of the journal; empty if unknown
	counts  pages.Counts
	begins  time.Time // the journal; zero if unknown
	since   time.Time // changes after this time have been counted
	latest  [][]webpage.Cell
	done    time.Time
	took    time.Duration
}

// Home returns the URL of the page of the Source.
func (s *Views) Home() string {
	return s.site.Routes.URL(document.KindDescription+document.PageOf, nil, "")
}

// View returns a request for the page of the document t. query says which rows it has: after is the
// position after which they begin, and begin what is searched for.
func (s *Views) View(t document.Target, query url.Values) (*View, error) {
	v := &View{Views: s, t: t, now: time.Now(), After: query.Get("after")}
	if t.Kind.Name == document.KindResourceList {
		v.Begin = strings.TrimSpace(query.Get("begin"))
	}
	if len(v.After) > maxPosition || len(v.Begin) > maxPosition || !utf8.ValidString(v.Begin) {
		return nil, t.NotExist("a position of this form")
	}
	return v, nil
}

// Fail renders the page of an error.
func (s *Views) Fail(title string, data pages.Error) ([]byte, error) {
	return s.Look.Render(s.layout(title, time.Now()), data.Content())
}

// A View is a request for the page of the document t.
type View struct {
	*Views
	t     document.Target
	now   time.Time
	After string // where the rows of the page begin: a key or a time; empty for the first
	Begin string // of the keys that are searched for; empty without a search
}

// A content is the content of a page and what its layout needs.
type content struct {
	title, intro string
	pages.Page
}

// maxPosition is the maximum length of the parameter after, which may be an encoded key.
var maxPosition = 1 + base64.RawURLEncoding.EncodedLen(resourcesync.MaxKeyLength)

// A Page is a rendered page, and the WebSockets to which it connects.
type Page struct {
	Text    render.Text
	Connect []string
}

// layout returns a page of the time now with the common parts of all pages.
func (s *Views) layout(title string, now time.Time) *webpage.Page {
	host := s.site.Routes.Origin[strings.Index(s.site.Routes.Origin, "://")+len("://"):]
	return &webpage.Page{Title: title, Site: cmp.Or(s.site.About.Title, host), Home: s.Home(), Now: now, Footer: pages.Footer(now)}
}

// trail returns the links to the pages above v.
func (v *View) trail() []webpage.Link {
	if v.t.Set == nil {
		return nil
	}
	trail := []webpage.Link{{Text: "Source", URL: v.Home()}}
	if v.t.Kind.Name != document.KindCapabilityList {
		trail = append(trail, webpage.Link{Text: display(v.t.Set), URL: v.page(document.KindCapabilityList, "")})
	}
	above, index := v.t.Kind.Parent, " Index"
	switch v.t.Kind.Name {
	case document.KindDumpManifest:
		above, index = document.KindResourceDump, ""
	case document.KindChangeManifest:
		above, index = document.KindChangeDump, ""
	case document.KindRecentChanges:
		above, index = document.KindChangeList, ""
	}
	if above != "" {
		trail = append(trail, webpage.Link{Text: nameOf(v.site.Routes.Kinds[above].Capability) + index, URL: v.page(above, "")})
	}
	return trail
}

// page returns the URL of the page of a document of the set of v.
func (v *View) page(kind, part string) string { return v.t.URL(kind+document.PageOf, part) }

// Here returns the URL of the page of v that begins at a position.
func (v *View) Here(after string) string {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	if v.Begin != "" {
		query.Set("begin", v.Begin)
	}
	uri := v.site.Routes.URL(v.t.Kind.Name+document.PageOf, v.t.Set, v.t.Part)
	if len(query) > 0 {
		uri += "?" + query.Encode()
	}
	return uri
}

// DocumentURL returns the URL of the document of v.
func (v *View) DocumentURL() string { return v.site.Routes.URL(v.t.Kind.Name, v.t.Set, v.t.Part) }

// display returns the name of st on a page.
func display(st *document.Set) string {
	return cmp.Or(st.About.Title, st.Name, "All resources")
}

// contact returns the link to the contact of st or, if it is nil or has none, of the Source. Its URL
// is empty if there is no contact.
func (v *View) contact(st *document.Set) webpage.Link {
	about := v.site.About
	if st != nil && st.About.Contact != "" {
		about = st.About
	}
	return webpage.Link{Text: about.Contact, URL: about.ContactURL()}
}

// nameOf returns the name of a capability on a page.
func nameOf(c resourcesync.Capability) string {
	name := document.NameOf(string(c))
	if strings.HasSuffix(name, " Notification") {
		name += "s"
	}
	return name
}
