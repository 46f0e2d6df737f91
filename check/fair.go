package check

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A Source may change while it is checked. Differences from an entry are therefore checked again,
// against a later version of the entry.

// maxRereads is the maximum number of documents that are read again for this reason. If
// the Source really is wrong, its entries do not change.
const maxRereads = 20

// changed reports whether the entry of a document or resource has changed or disappeared since
// it was read.
func (c *checker) changed(ctx context.Context, w *content) bool {
	if w.Document == "" || c.rereads.Add(1) > maxRereads {
		return false
	}
	same := false
	complete := c.reread(ctx, w.Document, func(e *rsxml.Entry, at place) {
		now := contentOf(e, at)
		same = same || now.URI == w.URI && now.Length == w.Length && slices.Equal(now.Hashes, w.Hashes)
	})
	return complete && !same
}

// reread reads a document a second time, and reports whether that was possible.
func (c *checker) reread(ctx context.Context, uri string, each func(*rsxml.Entry, place)) bool {
	res, err := c.client.Document(ctx, uri, fetch.Validators{})
	if err != nil {
		return false
	}
	defer res.Close()
	base, err := url.Parse(res.URL)
	if err != nil {
		return false
	}
	known := new(findings) // from the first time
	d, err := known.read(uri, base, res, expectation{}, time.Now(), func(_ *document, e *rsxml.Entry, at place) { each(e, at) })
	return err == nil && d.complete
}

// changedSince reports whether a resource says that it has been modified since the Check began,
// so that it may be newer than its entry.
func (c *checker) changedSince(ctx context.Context, uri string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodHead, uri, nil)
	if err != nil {
		return false
	}
	res, err := c.client.Do(r)
	if err != nil {
		return false
	}
	res.Body.Close()
	modified, err := http.ParseTime(res.Header.Get("Last-Modified"))
	return err == nil && modified.After(c.report.Begun.Truncate(time.Second).Add(-time.Second)) && !modified.After(time.Now().Add(clockSkew))
}

// gone reports whether err means that a URL has no resource and its entry has disappeared,
// too.
func (c *checker) gone(ctx context.Context, err error, w *content) bool {
	return fetch.IsStatus(err, http.StatusNotFound, http.StatusGone) && c.changed(ctx, w)
}
