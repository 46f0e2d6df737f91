package rshttp

import (
	"github.com/resourcesync-go/resourcesync/internal/document"

	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// This file serves the HTML pages of documents. Each document of a kind that has a page is
// shown at its own URL to browsers, and at the URL that ends in .html to everyone. A page
// reads what it shows, and not what its document lists: its cost does not depend on the
// length of a list.

// Page returns the public URL of the HTML page of the Source. It is empty if pages are
// turned off.
func (s *Source) Page() string {
	if s.templates == nil {
		return ""
	}
	return s.site.Routes.URL(document.KindDescription+document.PageOf, nil, "")
}

// asPage returns the target of the page of t if a request for t is to be answered with it.
func asPage(r *http.Request, t document.Target) (document.Target, bool) {
	if t.Kind.Page == nil || !pages.Navigates(r) {
		return t, false
	}
	t.Kind = t.Kind.Page
	return t, true
}

// A view is a request for the page of the document t.
type view struct {
	*Source
	t     document.Target
	now   time.Time
	after string      // where the rows of the page begin: a key or a time; empty for the first
	sort  pages.Order // of the rows
}

// A page is the content of a page and what its layout needs.
type page struct {
	title, intro string
	data         pages.Data
	connect      []string // WebSockets
}

var (
	hdrHTML      = []string{"text/html; charset=utf-8"}
	hdrNoIndex   = []string{"noindex, nofollow"}
	cachePrivate = []string{"private, no-cache"}
)

// A rendered is a page that is shared by all requests that wait for it.
type rendered struct {
	doc     *response
	connect []string
}

// maxPosition is the maximum length of the parameter after: that of an encoded key.
var maxPosition = base64.RawURLEncoding.EncodedLen(resourcesync.MaxKeyLength)

// servePage answers a request for the page of a document. Pages are not cached.
func (q request) servePage() error {
	v := &view{Source: q.Source, t: q.t, now: time.Now()}
	v.t.Kind = q.t.Kind.Document
	query := q.r.URL.Query()
	v.after, v.sort = query.Get("after"), pages.Order(query.Get("sort")).Valid()
	if len(v.after) > maxPosition {
		return v.t.NotExist("a position of this length")
	}
	ctx, cancel := context.WithTimeout(q.r.Context(), max(q.options.Limits.Wait, 0)+2*q.options.Limits.RenderTimeout)
	defer cancel()
	key := v.t.Kind.Name + document.PageOf + " " + setName(v.t) + " " + v.t.Part + "?" + url.Values{"after": {v.after}, "sort": {string(v.sort)}}.Encode()
	result, err := q.requests.Of(true).Do(ctx, key, admission.Job{
		Begin: func(ctx context.Context) error { return q.renderings.AcquireWithin(ctx, q.options.Limits.Wait, true) },
		Work: func(ctx context.Context) (any, error) {
			defer q.renderings.Release(true)
			ctx, cancel := context.WithTimeout(ctx, q.options.Limits.RenderTimeout)
			defer cancel()
			return v.render(ctx)
		},
	})
	if err != nil {
		return err
	}
	out := result.(*rendered)
	q.templates.SetHeaders(q.w.Header(), out.connect...)
	q.w.Header()["X-Robots-Tag"] = hdrNoIndex
	if q.isTopic() {
		q.w.Header()["Link"] = []string{q.publisher.Links(v.documentURL())}
	}
	sendingPage(q.w)
	q.send(q.w, q.r, out.doc)
	return nil
}

// isTopic reports whether the page is shown at the URL of a topic. Its links are then those
// of the topic: a client that follows them subscribes to what the hub delivers. WebSub 4.1
// wants another self for each representation, but Change Notification 4.1 wants the topic.
func (q request) isTopic() bool {
	of := q.t.Kind.Document
	return of.Form == document.FormTopic && q.t.Path == q.site.Routes.Path(of.Name, q.t.Set, "")
}

func (v *view) render(ctx context.Context) (*rendered, error) {
	if v.t.Set != nil && v.t.Kind.State != nil {
		if err := v.t.Set.Ready(ctx); err != nil {
			return nil, err
		}
	}
	p, err := v.gather(ctx)
	if err != nil {
		return nil, err
	}
	layout := v.layout(p.title)
	layout.Intro, layout.Data = p.intro, p.data
	layout.Trail = v.trail()
	layout.Raw, layout.RawType = v.documentURL()+"?xml", "application/xml"
	html, err := v.templates.Render(p.data.Template(), layout)
	if err != nil {
		return nil, err
	}
	text, err := render.Compress(html)
	if err != nil {
		return nil, err
	}
	doc := newResponse(v.t, &document.Document{Text: text, State: &document.State{}})
	doc.hdrType, doc.hdrCacheControl = hdrHTML, cachePrivate
	return &rendered{doc, p.connect}, nil
}

// gather gathers the content of the page of v.
func (v *view) gather(ctx context.Context) (page, error) {
	switch v.t.Kind.Name {
	case document.KindDescription:
		return pageSource(ctx, v)
	case document.KindCapabilityList:
		return pageSet(ctx, v)
	case document.KindResourceList:
		return pageResourceList(ctx, v)
	case document.KindResourcePage, document.KindDumpManifest:
		return pageResourcePage(ctx, v)
	case document.KindResourceDump, document.KindDumpPart:
		return pageDump(ctx, v)
	case document.KindChangeList:
		return pageChangeList(ctx, v)
	case document.KindRecentChanges:
		return pageRecentChanges(ctx, v)
	case document.KindChangeWindow:
		return pageChangeWindow(ctx, v)
	case document.KindChangeDump, document.KindChangeDumpPart:
		return pageChangeDump(ctx, v)
	case document.KindChangeManifest:
		return pageChangeManifest(ctx, v)
	}
	if v.t.Kind.Form == document.FormTopic {
		return pageChannel(ctx, v)
	}
	return pageArchive(ctx, v)
}

// failPage answers a request for a page that cannot be rendered. Its header has been set.
func (s *Source) failPage(w http.ResponseWriter, r *http.Request, f *failure) {
	p := s.layout(http.StatusText(f.status))
	data := pages.Error{Text: f.text, ID: f.id, Index: f.index}
	p.Data = data
	html, err := s.templates.Render(data.Template(), p)
	if err != nil {
		s.log.Error("page of an error not rendered", "error", err)
		html = []byte(f.text)
	}
	s.templates.SetHeaders(w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(html)))
	w.WriteHeader(f.status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(html) // fails if the client has left
	}
}

// layout returns a page with the common parts of all pages.
func (s *Source) layout(title string) *webpage.Page {
	host := s.site.Routes.Origin[strings.Index(s.site.Routes.Origin, "://")+len("://"):]
	return &webpage.Page{Title: title, Site: host, Home: s.Page(), Now: time.Now()}
}

// trail returns the links to the pages above that of v.
func (v *view) trail() []webpage.Link {
	if v.t.Set == nil {
		return nil
	}
	trail := []webpage.Link{{Text: "Source", URL: v.Page()}}
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
func (v *view) page(kind, part string) string { return v.t.URL(kind+document.PageOf, part) }

// here returns the URL of the page of v with other rows or another order.
func (v *view) here(after string, sort pages.Order) string {
	query := url.Values{}
	if after != "" {
		query.Set("after", after)
	}
	if sort != "" {
		query.Set("sort", string(sort))
	}
	uri := v.site.Routes.URL(v.t.Kind.Name+document.PageOf, v.t.Set, v.t.Part)
	if len(query) > 0 {
		uri += "?" + query.Encode()
	}
	return uri
}

// documentURL returns the URL of the document of v.
func (v *view) documentURL() string { return v.site.Routes.URL(v.t.Kind.Name, v.t.Set, v.t.Part) }

// key returns the first key of the page of v: the one after the last of the page before.
func (v *view) key() (string, error) {
	if v.after == "" {
		return "", nil
	}
	key, err := base64.RawURLEncoding.Strict().DecodeString(v.after)
	if err != nil || len(key) > resourcesync.MaxKeyLength {
		return "", fmt.Errorf("%q is not a position in a list: %w", v.after, fs.ErrNotExist)
	}
	return string(key) + "\x00", nil
}

// time returns the time that v.after is, or zero.
func (v *view) time() (time.Time, error) {
	if v.after == "" {
		return time.Time{}, nil
	}
	at, err := partition.ParseTime(v.after)
	if err != nil {
		return at, fmt.Errorf("%q is not a time: %w", v.after, fs.ErrNotExist)
	}
	return at, nil
}

func setName(t document.Target) string {
	if t.Set == nil {
		return ""
	}
	return t.Set.Name
}

// display returns the name of st on a page.
func display(st *document.Set) string {
	if st.Name == "" {
		return "All resources"
	}
	return st.Name
}

// nameOf returns the name of a capability on a page.
func nameOf(c resourcesync.Capability) string {
	names := map[resourcesync.Capability]string{
		resourcesync.CapabilityList:        "Capability List",
		resourcesync.ResourceList:          "Resource List",
		resourcesync.ResourceDump:          "Resource Dump",
		resourcesync.ResourceDumpManifest:  "Resource Dump Manifest",
		resourcesync.ChangeList:            "Change List",
		resourcesync.ChangeDump:            "Change Dump",
		resourcesync.ChangeDumpManifest:    "Change Dump Manifest",
		resourcesync.ResourceListArchive:   "Resource List Archive",
		resourcesync.ResourceDumpArchive:   "Resource Dump Archive",
		resourcesync.ChangeListArchive:     "Change List Archive",
		resourcesync.ChangeDumpArchive:     "Change Dump Archive",
		resourcesync.ChangeNotification:    "Change Notifications",
		resourcesync.FrameworkNotification: "Framework Notifications",
	}
	return names[c]
}
