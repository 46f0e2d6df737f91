package check

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// get reads one document, and judges the response. The document is nil if it could not be
// requested. An error means that ctx has ended.
func (w *walker) get(ctx context.Context, uri string, x expectation, each func(*document, *rsxml.Entry, place)) (d *document, read time.Time, err error) {
	w.at(uri)
	read = time.Now()
	res, err := w.client.Document(ctx, uri, fetch.Validators{})
	if err != nil {
		if x.child != nil && w.gone(ctx, err, x.child) {
			return nil, read, ctx.Err()
		}
		return nil, read, w.failed(ctx, uri, x.at, err, "unreachable", "")
	}
	defer res.Close()
	base, err := url.Parse(res.URL)
	if err != nil {
		return nil, read, nil
	}
	now := read
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		now = date
	}
	d, err = w.read(uri, base, res, x, now, func(d *document, e *rsxml.Entry, at place) {
		if w.entries.Add(1)%1000 == 0 {
			w.at(uri)
		}
		each(d, e, at)
	})
	w.documents.Add(1)
	w.bytes.Add(d.bytes)
	if err != nil {
		return d, read, w.failed(ctx, uri, place{document: uri}, err, "unreachable", "")
	}
	w.response(uri, x.at, res, d)
	w.remember(uri, res, d, read)
	return d, read, w.identity(ctx, uri, res)
}

// failed adds a finding about a request that has failed. It returns an error if ctx has ended.
func (c *checker) failed(ctx context.Context, uri string, at place, err error, rule, section string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if at.document == "" {
		at.document = uri
	}
	found, text := failure(uri, err, rule)
	if found != rule {
		section = ""
	}
	c.add(found, at, section, "%s", text)
	return nil
}

// failure returns the rule about a request that has failed, by default rule, and a text.
func failure(uri string, err error, rule string) (id, text string) {
	switch {
	case errors.Is(err, fetch.ErrInternal):
		rule = "document-internal"
	case errors.Is(err, fetch.ErrDisallowed):
		rule = "robots-disallowed"
	}
	if text = err.Error(); !strings.Contains(text, uri) {
		text = uri + ": " + text
	}
	return rule, text
}

// response judges the response with a document.
func (w *walker) response(uri string, at place, res *fetch.Document, d *document) {
	here := place{document: uri}
	if rule := judgeType(res.Header.Get("Content-Type")); rule != "" {
		w.add(rule, here, "", "the Content-Type is %q", res.Header.Get("Content-Type"))
	}
	if !strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") && d.bytes > smallDocument && !strings.Contains(res.Header.Get("Content-Type"), "gzip") && !strings.HasSuffix(res.URL, ".gz") {
		w.add("no-gzip", here, "", "%d bytes are sent without compression", d.bytes)
	}
	if res.Header.Get("ETag") == "" && res.Header.Get("Last-Modified") == "" {
		w.add("no-validators", here, "", "the response has neither ETag nor Last-Modified")
	}
	if res.URL != uri && at.document != "" {
		w.add("redirected", at, "", "%s redirects to %s", uri, res.URL)
	}
}

// judgeType returns the rule that a Content-Type of a document breaks, or "".
func judgeType(value string) string {
	media, _, _ := strings.Cut(strings.ToLower(value), ";")
	switch media = strings.TrimSpace(media); media {
	case "application/xml", "text/xml", "application/gzip", "application/x-gzip":
		return ""
	case "", "text/plain", "application/octet-stream", "binary/octet-stream":
		return "content-type" // servers send these types for files of an unknown type
	}
	if strings.HasSuffix(media, "+xml") && !strings.Contains(media, "html") {
		return "content-type"
	}
	return "content-type-unreadable"
}

// identity requests the first document that is compressed without compression.
func (w *walker) identity(ctx context.Context, uri string, res *fetch.Document) error {
	if w.identityTried || !strings.EqualFold(res.Header.Get("Content-Encoding"), "gzip") {
		return nil
	}
	w.identityTried = true
	res.Close()
	plain, err := w.client.Get(ctx, uri, http.Header{"Accept-Encoding": {"identity"}})
	if err != nil {
		return w.failed(ctx, uri, place{document: uri}, err, "identity", "")
	}
	defer plain.Body.Close()
	if coding := plain.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		w.add("identity", place{document: uri}, "", "with Accept-Encoding: identity the Content-Encoding is %q", coding)
	}
	return nil
}
