package sidecar

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// LinkTransport returns a transport for the scanner of a website that [Options.HTMLLink]
// inserts links into. It sends requests through next, and inserts a link to
// capabilityList into HTML pages at the same places, so that the scanner lists the
// length and hash of the page that visitors receive. Validators stay those of the
// upstream.
//
// A response to HEAD for such a page has no length. A page with the content coding gzip
// is decompressed and marked Uncompressed, because visitors receive a new compression of
// unknown length.
func LinkTransport(next http.RoundTripper, capabilityList string) http.RoundTripper {
	return &linkTransport{next, linkElement(capabilityList)}
}

type linkTransport struct {
	next http.RoundTripper
	link []byte
}

// RoundTrip implements [http.RoundTripper].
func (t *linkTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	header := res.Header.Clone()
	for name := range res.Trailer {
		header.Add("Trailer", name) // net/http has removed it
	}
	ok, declared := isPlainHTML(res.StatusCode, header)
	if !ok || !isInsertable(contentCoding(header)) {
		return res, nil
	}
	if r.Method == http.MethodHead {
		setLength(res, -1)
		return res, nil
	}
	if err := t.insert(res, declared); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// insert inserts the link into the body of res.
func (t *linkTransport) insert(res *http.Response, declared bool) error {
	var page io.Reader = res.Body
	if isGzip(contentCoding(res.Header)) {
		zr, err := newGzipReader(page)
		if err != nil {
			return err
		}
		page = zr
		res.Header.Del("Content-Encoding")
		res.Uncompressed = true
		setLength(res, -1)
	}
	prefix := make([]byte, maxProlog)
	n, err := io.ReadFull(page, prefix)
	complete := err == io.EOF || err == io.ErrUnexpectedEOF && n < maxProlog
	if err != nil && !complete {
		return err
	}
	prefix = prefix[:n]
	at, _ := insertionPoint(prefix, declared, complete)
	parts := []io.Reader{bytes.NewReader(prefix), page}
	if at >= 0 {
		parts = []io.Reader{bytes.NewReader(prefix[:at]), bytes.NewReader(t.link), bytes.NewReader(prefix[at:]), page}
		if res.ContentLength >= 0 {
			setLength(res, res.ContentLength+int64(len(t.link)))
		}
	}
	res.Body = &linkedBody{io.MultiReader(parts...), res.Body}
	return nil
}

// setLength sets the length of a response; -1 means that it is unknown.
func setLength(res *http.Response, n int64) {
	res.ContentLength = n
	res.Header.Del("Content-Length")
	if n >= 0 {
		res.Header.Set("Content-Length", strconv.FormatInt(n, 10))
	}
}

// A linkedBody reads a page with links, and closes the body of the upstream.
type linkedBody struct {
	io.Reader
	io.Closer
}
