package tree

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

const (
	// WellKnownPath is the path of the Source Description (section 6.3.2).
	WellKnownPath = "/.well-known/resourcesync"

	// sitemapPath is the usual path of a sitemap.
	sitemapPath = "/sitemap.xml"

	robotsPath = "/robots.txt"

	// MaxPage is the maximum number of bytes read of a web page or robots.txt.
	MaxPage = 1 << 20
)

// Discover returns the sets of the Source that start leads to (section 6.3): start can be
// a document, a web page with a link to a Capability List in its header or head, or any URL
// of a site with a Source Description at the well-known URI, with sitemaps in its robots.txt,
// or with elements of ResourceSync in its /sitemap.xml. For the root of a site, the well-known
// URI comes first.
func (r *Reader) Discover(ctx context.Context, start string) ([]Set, error) {
	u, err := url.Parse(start)
	if err != nil || u.Host == "" || !isHTTP(start) {
		return nil, fmt.Errorf("%q is not an absolute http or https URL", start)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	within := *r
	within.budget, ctx = newBudget(ctx)
	return within.discover(ctx, u)
}

func (r *Reader) discover(ctx context.Context, u *url.URL) ([]Set, error) {
	type way struct {
		path string // of the document that it reads
		read func(context.Context, *url.URL) ([]Set, error)
	}
	ways := []way{{u.RequestURI(), r.page}, {WellKnownPath, r.wellKnown}, {robotsPath, r.robots}, {sitemapPath, r.sitemap}}
	if u.Path == "/" {
		ways[0], ways[1] = ways[1], ways[0]
	}
	var failed error
	for _, way := range ways {
		clear(r.budget.seen) // for another meaning of the same document
		sets, err := way.read(ctx, u)
		if err == nil && len(sets) > 0 {
			for i := range sets {
				if sets[i].Named == "" {
					sets[i].Named = u.ResolveReference(&url.URL{Path: way.path}).String()
				}
			}
			return sets, nil
		}
		if err != nil && !isMissing(err) {
			return nil, err
		}
		if failed == nil {
			failed = err
		}
	}
	if failed != nil {
		failed = fmt.Errorf(" (%w)", failed)
	} else {
		failed = fmt.Errorf("")
	}
	return nil, fmt.Errorf("%s does not lead to a ResourceSync document: neither it nor %s is one, it has no link with the relation resourcesync, robots.txt names no sitemap, and %s has no elements of ResourceSync%w", u, WellKnownPath, sitemapPath, failed)
}

// isMissing reports whether err means that a URL has no document of ResourceSync.
func isMissing(err error) bool {
	if syntax, ok := errors.AsType[*rsxml.SyntaxError](err); ok {
		return syntax.ID != "namespace" // otherwise it is a document of another version of ResourceSync
	}
	return fetch.IsStatus(err, http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusUnauthorized, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusBadRequest)
}

func (r *Reader) wellKnown(ctx context.Context, u *url.URL) ([]Set, error) {
	return r.walk(ctx, u.ResolveReference(&url.URL{Path: WellKnownPath}).String(), 0)
}

// page returns the sets of a document or a web page.
func (r *Reader) page(ctx context.Context, u *url.URL) ([]Set, error) {
	res, err := r.document(ctx, u.String(), fetch.Validators{})
	if err != nil {
		return nil, err
	}
	defer res.Close()
	links, html := PageLinks(res)
	if !html {
		d, err := r.decode(res)
		if err == nil {
			r.budget.visit(u.String())
			return r.sets(ctx, u.String(), d, 0)
		}
		if len(links) == 0 {
			return nil, fmt.Errorf("%s: %w", u, err)
		}
	}
	res.Close()
	var out []Set
	for _, uri := range links {
		sets, err := r.walk(ctx, uri, 1)
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	return out, nil
}

// PageLinks returns the absolute URLs of the Capability Lists that a response links to, in its
// header and, if it is an HTML page, in its head (section 6.3.3). It reads from res only if that
// is a page.
func PageLinks(res *fetch.Document) (links []string, html bool) {
	links = capabilityLinks(linkheader.Parse(res.Header.Values("Link")...), res.URL)
	br := bufio.NewReaderSize(res.Reader, 4096)
	begin, _ := br.Peek(1024)
	res.Reader = br
	if !isHTML(res.Header.Get("Content-Type"), begin) {
		return links, false
	}
	return append(links, headLinks(io.LimitReader(br, MaxPage), res.URL)...), true
}

// maxLinks is the maximum number of Capability Lists that a page may link to.
const maxLinks = 100

// capabilityLinks returns the absolute targets of the links to Capability Lists.
func capabilityLinks(links []linkheader.Link, base string) []string {
	var out []string
	for _, l := range links {
		for rel := range strings.FieldsSeq(l.Rel) {
			if strings.EqualFold(rel, resourcesync.RelResourceSync) && len(out) < maxLinks {
				out = appendAbsolute(out, l.Target, base)
			}
		}
	}
	return out
}

func appendAbsolute(out []string, ref, base string) []string {
	b, err := url.Parse(base)
	if err != nil {
		return out
	}
	if u, err := b.Parse(strings.TrimSpace(ref)); err == nil && u.Host != "" && isHTTP(u.String()) {
		out = append(out, u.String())
	}
	return out
}

func isHTML(contentType string, begin []byte) bool {
	if contentType != "" {
		return strings.Contains(contentType, "html")
	}
	return strings.HasPrefix(http.DetectContentType(bytes.TrimSpace(begin)), "text/html")
}

// headLinks returns the targets of <link rel="resourcesync"> in the head of an HTML page
// (section 6.3.3).
func headLinks(r io.Reader, base string) []string {
	var out []string
	for z := html.NewTokenizer(r); ; {
		switch z.Next() {
		case html.ErrorToken:
			return out
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.DataAtom == atom.Body {
				return out
			}
			if t.DataAtom != atom.Link {
				continue
			}
			var l linkheader.Link
			for _, a := range t.Attr {
				switch a.Key {
				case "rel":
					l.Rel = a.Val
				case "href":
					l.Target = a.Val
				}
			}
			out = append(out, capabilityLinks([]linkheader.Link{l}, base)...)
			if len(out) >= maxLinks {
				return out
			}
		}
	}
}

// robots returns a set for each sitemap that the robots.txt of the site names (section
// 6.3.4).
func (r *Reader) robots(ctx context.Context, u *url.URL) ([]Set, error) {
	at := u.ResolveReference(&url.URL{Path: robotsPath}).String()
	res, err := r.document(ctx, at, fetch.Validators{})
	if err != nil {
		return nil, err
	}
	defer res.Close()
	text, err := io.ReadAll(io.LimitReader(res, MaxPage))
	if err != nil {
		return nil, err
	}
	res.Close()
	var out []Set
	for _, uri := range Sitemaps(string(text), at) {
		sets, err := r.walk(ctx, uri, 0)
		if err != nil {
			return nil, err
		}
		out = append(out, sets...)
	}
	return out, nil
}

// Sitemaps returns the absolute URLs of the sitemaps that a robots.txt at the URL base names.
func Sitemaps(text, base string) (uris []string) {
	for line := range strings.Lines(strings.TrimPrefix(text, "\uFEFF")) {
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(strings.TrimSpace(name), "sitemap") && len(uris) < maxLinks {
			uris = appendAbsolute(uris, value, base)
		}
	}
	return uris
}

// sitemap returns the sets that the sitemap with the usual path leads to.
func (r *Reader) sitemap(ctx context.Context, u *url.URL) ([]Set, error) {
	uri, err := r.Sitemap(ctx, u)
	if uri == "" || err != nil {
		return nil, err
	}
	return r.walk(ctx, uri, 0)
}

// Sitemap returns the URL of the sitemap with the usual path at the site of u, if it has elements
// of ResourceSync. A plain one is not used, because the site has not named it: it would replace
// the documents of a Source that cannot be found for a moment.
func (r *Reader) Sitemap(ctx context.Context, u *url.URL) (uri string, err error) {
	uri = u.ResolveReference(&url.URL{Path: sitemapPath}).String()
	d, err := r.Open(ctx, uri, fetch.Validators{})
	if err != nil {
		return "", err
	}
	defer d.Close()
	if d.Capability != "" || len(d.Head.Links) > 0 {
		return uri, nil
	}
	for e, err := range d.Entries() {
		if err != nil {
			return "", err
		}
		if len(e.Links) > 0 || !reflect.ValueOf(e.Metadata).IsZero() {
			return uri, nil
		}
	}
	return "", nil
}
