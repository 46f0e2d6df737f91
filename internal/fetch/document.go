package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/webclient"
)

// maxDocument is the maximum size, in bytes, of an uncompressed document. Sources exceed
// the 50 MB of the Sitemap protocol, and a few bytes of gzip must not become any number.
const maxDocument = 1 << 30

// ErrLong means that a document is too long.
var ErrLong = fmt.Errorf("the document has more than %d bytes", maxDocument)

// Validators identify the version of a response for conditional requests.
type Validators struct{ ETag, LastModified string }

// Header returns the condition of a request that the document has other validators than v.
func (v Validators) Header() http.Header {
	h := http.Header{}
	if v.ETag != "" {
		h.Set("If-None-Match", v.ETag)
	} else if v.LastModified != "" {
		h.Set("If-Modified-Since", v.LastModified)
	}
	return h
}

// ValidatorsOf returns the validators of a response. A Last-Modified in the second of the Date is
// none: another version can have the same one (RFC 9110, section 8.8.2.2). Without a Date, the clock of
// the server can differ from ours by up to a day.
func ValidatorsOf(h http.Header) Validators {
	v := Validators{h.Get("ETag"), h.Get("Last-Modified")}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		date = time.Now().Add(-24 * time.Hour)
	}
	if modified, err := http.ParseTime(v.LastModified); err == nil && !date.After(modified) {
		v.LastModified = ""
	}
	return v
}

// Date returns the time of a response: its Date, to the second, or our time if it has none.
func Date(h http.Header) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return time.Now()
}

type uncachedKey struct{}

// Uncached returns a context for documents that caches must not send without asking the Source.
func Uncached(ctx context.Context) context.Context {
	return context.WithValue(ctx, uncachedKey{}, true)
}

// A Document is a response that is read as text. Callers close it.
type Document struct {
	io.Reader // uncompressed; fails after maxDocument bytes
	io.Closer

	URL         string // after redirects
	Header      http.Header
	Validators  Validators
	NotModified bool
}

// Document requests a document. If known has validators, the request is conditional.
func (c *Client) Document(ctx context.Context, uri string, known Validators) (*Document, error) {
	header := known.Header()
	header.Set("Accept-Encoding", "gzip")
	if ctx.Value(uncachedKey{}) != nil {
		header.Set("Cache-Control", "no-cache")
	}
	res, err := c.Get(ctx, uri, header)
	if err != nil {
		return nil, err
	}
	d := &Document{Closer: res.Body, URL: res.Request.URL.String(), Header: res.Header, Validators: ValidatorsOf(res.Header)}
	if d.NotModified = res.StatusCode == http.StatusNotModified; d.NotModified {
		res.Body.Close() // it would take one of the requests that the host allows
		d.Reader, d.Closer, d.Validators = http.NoBody, http.NoBody, known
		return d, nil
	}
	if res.StatusCode != http.StatusOK {
		res.Body.Close()
		return nil, newStatusError(res, uri)
	}
	if d.Reader, err = content(res.Body); err != nil {
		res.Body.Close()
		return nil, fmt.Errorf("%s: %w", uri, err)
	}
	return d, nil
}

// content returns the text of r, decompressed if it is gzip.
func content(r io.Reader) (io.Reader, error) {
	text, err := webclient.Text(r, maxDocument, ErrLong)
	return &breakable{text}, err
}

// A breakable reader marks errors of a connection with ErrBroken.
type breakable struct{ io.Reader }

// Read implements [io.Reader].
func (b *breakable) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF && !errors.Is(err, ErrLong) {
		err = errors.Join(ErrBroken, err)
	}
	return n, err
}

// ErrBroken means that a connection has ended inside a body.
var ErrBroken = errors.New("the connection has ended early")
