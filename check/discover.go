package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/tree"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// source checks the Source that u leads to.
func (c *checker) source(ctx context.Context, u *url.URL) error {
	starts, err := c.discover(ctx, u)
	if err != nil {
		return err
	}
	w := &walker{checker: c, seen: make(map[uint64]struct{}), hubs: make(map[string]bool), parts: make(map[uint64]indexed), topics: make(map[string]string)}
	for _, s := range starts {
		st := newSet(c)
		if err := w.walk(ctx, s.uri, expectation{capability: s.capability}, st); err != nil {
			return err
		}
		if err := st.finish(ctx); err != nil {
			return err
		}
	}
	if c.documents.Load() == 0 && len(c.list) > 0 {
		return errors.New(c.list[0].Message)
	}
	c.judgeClaims()
	return w.again(ctx)
}

// A start is a document at which a walk begins.
type start struct {
	uri        string
	capability resourcesync.Capability // if it is known
}

// discover returns the documents at which the walk begins (section 6.3).
func (c *checker) discover(ctx context.Context, u *url.URL) ([]start, error) {
	wellKnown := u.ResolveReference(&url.URL{Path: tree.WellKnownPath}).String()
	root := u.Path == "" || u.Path == "/"
	known := []start{{wellKnown, resourcesync.Description}}
	if root {
		if err := c.isDocument(ctx, wellKnown); err == nil || !isMissing(err) {
			return known, err
		}
	}
	links, document, err := c.page(ctx, u.String())
	switch {
	case err != nil && !isMissing(err):
		return nil, err
	case document:
		return []start{{uri: u.String()}}, nil
	}
	if !root {
		if found := c.isDocument(ctx, wellKnown); found == nil && len(links) == 0 {
			return known, nil
		} else if found != nil && isMissing(found) && len(links) > 0 {
			c.add("well-known-missing", place{document: wellKnown}, "", "%v", found)
		}
	} else {
		c.add("well-known-missing", place{document: wellKnown}, "", "there is no Source Description")
	}
	if len(links) == 0 {
		if links, err = c.sitemaps(ctx, u); err != nil {
			return nil, err
		}
		if len(links) == 0 {
			if links, err = c.sitemap(ctx, u); err != nil {
				return nil, err
			}
		}
		if len(links) == 0 {
			return nil, fmt.Errorf("%w: neither it nor %s is one, it has no link with the relation resourcesync, robots.txt names no sitemap, and /sitemap.xml has no elements of ResourceSync", ErrNotSource, tree.WellKnownPath)
		}
		starts := make([]start, len(links))
		for i, uri := range links {
			starts[i].uri = uri
		}
		return starts, nil
	}
	page := u.String()
	if u.Path == "" {
		page += "/"
	}
	starts := make([]start, len(links))
	for i, uri := range links {
		starts[i] = start{uri, resourcesync.CapabilityList}
		c.claim(page, uri, place{document: page})
	}
	return starts, nil
}

// isMissing reports whether there is nothing useful at a URL.
func isMissing(err error) bool {
	return errors.Is(err, errPage) || fetch.IsStatus(err, http.StatusNotFound, http.StatusGone, http.StatusForbidden, http.StatusUnauthorized, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusBadRequest)
}

var errPage = errors.New("it is a web page, not a document")

// isDocument returns an error unless there is a document at uri. It does not read it.
func (c *checker) isDocument(ctx context.Context, uri string) error {
	_, document, err := c.page(ctx, uri)
	if err == nil && !document {
		err = errPage
	}
	return err
}

// page returns the Capability Lists that a response links to, and whether it is a document
// itself.
func (c *checker) page(ctx context.Context, uri string) (links []string, document bool, err error) {
	c.at(uri)
	res, err := c.client.Document(ctx, uri, fetch.Validators{})
	if err != nil {
		return nil, false, err
	}
	defer res.Close()
	links, html := tree.PageLinks(res)
	if html {
		return links, false, nil
	}
	begin := make([]byte, 1024)
	n, _ := io.ReadFull(res, begin)
	return links, looksXML(begin[:n]), nil
}

// looksXML reports whether text begins like an XML document.
func looksXML(begin []byte) bool {
	for _, b := range begin {
		switch b {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF:
		default:
			return b == '<'
		}
	}
	return false
}

// sitemaps returns the sitemaps that the robots.txt of a site names (section 6.3.4).
func (c *checker) sitemaps(ctx context.Context, u *url.URL) ([]string, error) {
	at := u.ResolveReference(&url.URL{Path: "/robots.txt"}).String()
	res, err := c.client.Document(ctx, at, fetch.Validators{})
	if err != nil {
		if isMissing(err) {
			return nil, nil
		}
		return nil, err
	}
	defer res.Close()
	text, err := io.ReadAll(io.LimitReader(res, tree.MaxPage))
	return tree.Sitemaps(string(text), at), err
}

// sitemap returns the sitemap with the usual path, if it has elements of ResourceSync.
func (c *checker) sitemap(ctx context.Context, u *url.URL) ([]string, error) {
	r := &tree.Reader{Client: c.client, Report: func(string, *rsxml.SyntaxError) {}} // it will be read again
	uri, err := r.Sitemap(ctx, u)
	if uri == "" || err != nil {
		if err != nil && (isMissing(err) || tree.IsInvalid(err)) {
			err = nil
		}
		return nil, err
	}
	return []string{uri}, nil
}
