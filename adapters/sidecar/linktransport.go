package sidecar

import (
	"bytes"
	"errors"
	"html"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// LinkTransport returns a transport for the scanner of a website into which [Wrap] with
// [Options.HTMLLink] inserts links. It sends requests through next, and inserts
// a link to capabilityList into HTML pages at the same places, so that the scanner lists
// the length and hash of the page that visitors receive. Validators are passed on from the
// upstream.
//
// A response to HEAD for such a page has no length. A page with the content coding gzip
// is decompressed and marked Uncompressed, because visitors receive a new compression of
// unknown length.
func LinkTransport(next http.RoundTripper, capabilityList string) http.RoundTripper {
	return &scannerTransport{next, linkElement(capabilityList)}
}

type scannerTransport struct {
	next http.RoundTripper
	link []byte
}

// RoundTrip implements [http.RoundTripper].
func (t *scannerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err == nil {
		insertLinks(res, r.Method, t.link)
	}
	return res, err
}

// A visitorTransport inserts links into the page that a visitor receives.
type visitorTransport struct {
	next  http.RoundTripper
	links []byte
}

// linkElement returns the link element for a Capability List.
func linkElement(capabilityList string) []byte {
	return []byte(`<link rel="resourcesync" href="` + html.EscapeString(capabilityList) + `"/>`)
}

// RoundTrip implements [http.RoundTripper].
func (t visitorTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusPartialContent && r.Header.Get("Range") != "" && mayBePartOfHTML(res.Header) {
		// The range refers to the page with links: request all of it.
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			return nil, err
		}
		whole := r.Clone(r.Context())
		whole.Header.Del("Range")
		whole.Header.Del("If-Range")
		if res, err = t.next.RoundTrip(whole); err != nil {
			return nil, err
		}
	}
	if res.StatusCode == http.StatusNotModified && (res.Header.Get("Content-Type") == "" || isHTML(res.Header)) {
		weakenETag(res.Header) // as in the 200, in case that is a page
	}
	coding := res.Header.Get("Content-Encoding")
	if !insertLinks(res, r.Method, t.links) {
		return res, nil
	}
	// Caches may compare the validator, but clients must not combine ranges by it.
	weakenETag(res.Header)
	res.Header.Set("Accept-Ranges", "none")
	if isGzip(coding) && r.Method != http.MethodHead {
		res.Header.Set("Content-Encoding", coding)
		res.Uncompressed = false
		res.Body = newZipper(res.Body)
	}
	return res, nil
}

// A linkingTransport inserts the links that the context of a request has under linksKey.
type linkingTransport struct{ next http.RoundTripper }

type linksKey struct{}

// RoundTrip implements [http.RoundTripper].
func (t linkingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if links, ok := r.Context().Value(linksKey{}).([]byte); ok {
		return visitorTransport{t.next, links}.RoundTrip(r)
	}
	return t.next.RoundTrip(r)
}

func weakenETag(header http.Header) {
	if etag := header.Get("Etag"); etag != "" && !strings.HasPrefix(etag, "W/") {
		header.Set("Etag", "W/"+etag)
	}
}

// insertLinks inserts links into res, the response to a request with this method, if it
// is a page with an insertion point. It reads the page up to there, and decompresses it.
// Otherwise res stays unchanged. The response to HEAD is changed as if it were for such a page.
func insertLinks(res *http.Response, method string, links []byte) bool {
	header := res.Header
	if len(res.Trailer) > 0 {
		header = header.Clone()
		for name := range res.Trailer {
			header.Add("Trailer", name) // net/http has removed it
		}
	}
	ok, declared := isPlainHTML(res.StatusCode, header)
	coding := contentCoding(header)
	if !ok || !isInsertable(coding) {
		return false
	}
	if method == http.MethodHead {
		setLength(res, -1)                          // unknown without the page
		res.Body = &page{drain{res.Body}, res.Body} // net/http would count it
		return true
	}
	raw := &prolog{Reader: res.Body}
	text, rest, ok := raw.insert(isGzip(coding), declared, links)
	switch {
	case !ok:
		res.Body = &page{io.MultiReader(bytes.NewReader(raw.kept), res.Body), res.Body}
		return false
	case isGzip(coding):
		res.Header.Del("Content-Encoding")
		res.Uncompressed = true
		setLength(res, -1)
	case res.ContentLength >= 0:
		setLength(res, res.ContentLength+int64(len(links)))
	}
	res.Body = &page{io.MultiReader(bytes.NewReader(text), rest, drain{res.Body}), res.Body}
	return true
}

// setLength sets the length of a response; -1 means that it is unknown.
func setLength(res *http.Response, n int64) {
	res.ContentLength = n
	res.Header.Del("Content-Length")
	if n >= 0 {
		res.Header.Set("Content-Length", strconv.FormatInt(n, 10))
	}
}

// A prolog is the beginning of a page. It keeps what it reads until the insertion point
// is known, so that a page without one can be sent unchanged.
type prolog struct {
	io.Reader
	kept  []byte
	found bool
}

var errLongProlog = errors.New("sidecar: the page has too much data without text")

// Read implements [io.Reader].
func (p *prolog) Read(b []byte) (int, error) {
	if p.found {
		return p.Reader.Read(b)
	}
	if len(p.kept) > 4*maxProlog {
		return 0, errLongProlog // the beginning of a page is compressed to more than itself
	}
	n, err := p.Reader.Read(b)
	p.kept = append(p.kept, b[:n]...)
	return n, err
}

// insert reads the page up to the insertion point. It returns the text so far with links
// inserted, and the rest of the text.
func (p *prolog) insert(zipped, declared bool, links []byte) (text []byte, rest io.Reader, ok bool) {
	rest = p
	if zipped {
		zr, err := newGzipReader(p)
		if err != nil {
			return nil, nil, false
		}
		rest = zr
	}
	next := 0 // length of text at which to search again
	for {
		text = slices.Grow(text, 2<<10)
		n, err := rest.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if len(text) < next && err == nil {
			continue
		}
		next = len(text) + len(text)/8 + 1 // avoids quadratic cost of small reads
		at, decided := insertionPoint(text, declared, err == io.EOF)
		switch {
		case decided && at >= 0:
			p.found = true
			return slices.Insert(text, at, links...), rest, true
		case decided || err != nil:
			return nil, nil, false
		}
	}
}

// A page is the body of a page that has been read in part.
type page struct {
	io.Reader
	io.Closer
}

// A drain discards what follows the gzip stream of a page, so that the website can finish
// writing.
type drain struct{ io.Reader }

// Read implements [io.Reader].
func (d drain) Read([]byte) (int, error) {
	if _, err := io.Copy(io.Discard, d.Reader); err != nil {
		return 0, err
	}
	return 0, io.EOF
}
