package sitemap

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// maxPage is the maximum size, in bytes, of a page with a known length that is read
// for its hash. A larger one is listed without a hash.
const maxPage = 1 << 30

// settled is the age at which a Last-Modified becomes a validator. It counts in
// seconds, so a younger one may name two versions (RFC 9110, section 8.8.2.2).
const settled = 2 * time.Second

// A page is a URL of the site, with the results of earlier checks.
type page struct {
	key      string
	uri      *url.URL
	listed   time.Time             // the lastmod in its sitemap; zero if unknown
	known    resourcesync.Resource // zero if the page is not listed
	withheld resourcesync.Resource // zero if the page is not withheld
}

// A verdict is the result of checking a page: list it as resource, or withhold it for
// a reason.
type verdict struct {
	resource resourcesync.Resource
	reason   string
	stranger bool // only a Stranger is refused the page
}

// errInvalidURI means that a resource cannot have this URL.
var errInvalidURI = errors.New("cannot be written into a document")

// check requests p from the site. An error means that the page must stay unchanged.
func (s *Site) check(ctx context.Context, p *page) (verdict, error) {
	v, err := s.request(ctx, p)
	if err == nil && v.reason != "" {
		v.stranger, err = s.refused(ctx, p)
	}
	return v, err
}

// request is like check, but does not judge refusals.
func (s *Site) request(ctx context.Context, p *page) (verdict, error) {
	if rsxml.CheckURI(p.uri.String()) != nil {
		return verdict{}, errInvalidURI
	}
	mark := stamp{Listed: listedAt(p.listed), Variant: s.variant}
	before := parseStamp(p.known.Stamp)
	if s.options.Verify == VerifyNone {
		r := resourcesync.Resource{Key: p.key, URI: p.uri.String(), LastModified: notFuture(p.listed)}
		if p.known.Key != "" && before.isCurrent(p.listed) {
			// A list of recent changes has stated a later time than the sitemap, if that has one.
			r.LastModified, mark.Listed = p.known.LastModified, before.Listed
		}
		r.Stamp = mark.String()
		return verdict{resource: r}, nil
	}
	mark.Listed = later(mark.Listed, before.Listed)
	var known fetch.Validators // of the same URL
	if p.known.Key != "" && p.known.URI == p.uri.String() && before.Hashed == (s.options.Verify == VerifyGet) && before.Variant == s.variant {
		known = fetch.Validators{ETag: before.ETag, LastModified: before.Modified}
	}
	header := known.Header()
	header.Set("Accept-Encoding", "identity")
	method := http.MethodGet
	if s.options.Verify == VerifyHead {
		method = http.MethodHead
	}
	res, err := s.client.do(ctx, method, p.uri, header)
	if err == nil && method == http.MethodHead && (res.StatusCode == http.StatusMethodNotAllowed || res.StatusCode == http.StatusNotImplemented) {
		res.Body.Close()
		res, err = s.client.do(ctx, http.MethodGet, p.uri, header)
	}
	if err != nil {
		return verdict{}, err
	}
	defer res.Body.Close()
	switch status := res.StatusCode; {
	case status == http.StatusNotModified && known != (fetch.Validators{}):
		before.Listed = mark.Listed
		if values := res.Header["Cache-Control"]; values != nil {
			before.Uncacheable = isUncacheable(values)
		}
		if before.Uncacheable && s.options.RespectCacheControl {
			return verdict{reason: uncacheable}, nil
		}
		p.known.Stamp = before.String()
		return verdict{resource: p.known}, nil
	case status == http.StatusOK:
		return s.read(p, mark, res)
	case isRedirect(status) && res.Header.Get("Location") != "":
		return verdict{reason: "redirect"}, nil
	case isRefusal(status):
		return verdict{reason: http.StatusText(status)}, nil
	}
	return verdict{}, &statusError{status: res.StatusCode}
}

func isRedirect(status int) bool {
	return slices.Contains([]int{http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect}, status)
}

// isRefusal reports whether a status means that a page is not public. Any other
// failure is temporary or concerns the request.
func isRefusal(status int) bool {
	return slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusGone,
		http.StatusUnavailableForLegalReasons}, status)
}

// read derives the verdict on a page from a response.
func (s *Site) read(p *page, mark stamp, res *http.Response) (verdict, error) {
	var text []byte
	r := resourcesync.Resource{
		Key:      p.key,
		URI:      p.uri.String(),
		Length:   resourcesync.Bytes(res.ContentLength),
		Encoding: res.Header.Get("Content-Encoding"),
	}
	if kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil {
		r.Type = kind
	}
	if s.options.Verify == VerifyGet && res.ContentLength > maxPage {
		var err error
		if text, err = io.ReadAll(io.LimitReader(res.Body, maxHead)); err != nil {
			return verdict{}, err
		}
		if text, err = decodeHead(r.Encoding, res.Header, text); err != nil {
			return verdict{}, err
		}
	} else if s.options.Verify == VerifyGet {
		var err error
		if text, err = s.hash(&r, res.Body); err != nil {
			return verdict{}, err
		}
		mark.Hashed = true
		if res.Uncompressed {
			mark.Digest = r.Hashes[0].Digest
			r.Length, r.Hashes = resourcesync.Length{}, nil
		}
		if text, err = decodeHead(r.Encoding, res.Header, text); err != nil {
			return verdict{}, err
		}
	}
	if reason := unlistable(p.uri, res.Header, text); reason != "" {
		return verdict{reason: reason}, nil
	}
	if mark.Uncacheable = isUncacheable(res.Header["Cache-Control"]); mark.Uncacheable && s.options.RespectCacheControl {
		return verdict{reason: uncacheable}, nil
	}
	modified, err := http.ParseTime(res.Header.Get("Last-Modified"))
	now := time.Now()
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil {
		now = date
	}
	mark.ETag = res.Header.Get("Etag")
	if err == nil && now.Sub(modified) > settled {
		mark.Modified = res.Header.Get("Last-Modified")
	}
	r.LastModified = s.lastModified(p, r, notFuture(modified), mark)
	r.Stamp = mark.String()
	return verdict{resource: r}, nil
}

// lastModified returns the time of the last change of p, now checked as r; zero if neither the
// page nor the sitemap states one. modified is its Last-Modified, or zero.
func (s *Site) lastModified(p *page, r resourcesync.Resource, modified time.Time, mark stamp) time.Time {
	if modified.IsZero() {
		modified = notFuture(p.listed)
	}
	if !modified.IsZero() && (mark.Digest == "" || modified.After(p.known.LastModified)) {
		return modified
	}
	if isSame(p.known, r) && mark.Digest == parseStamp(p.known.Stamp).Digest {
		return p.known.LastModified
	}
	if modified.IsZero() && (mark.Digest == "" || p.known.URI == "") {
		return time.Time{}
	}
	// A changed page was last modified before now. Without a listed hash, no other
	// attribute shows the change, so two changes within a second must differ.
	return time.Now().UTC().Truncate(time.Microsecond)
}

// hash reads a page and sets its length and hash. It returns the first maxHead bytes.
func (s *Site) hash(r *resourcesync.Resource, body io.Reader) (begin []byte, err error) {
	var head bytes.Buffer
	sum := sha256.New()
	n, err := io.Copy(sum, io.TeeReader(io.LimitReader(body, maxHead), &head))
	if err != nil {
		return nil, err
	}
	rest, err := io.Copy(sum, io.LimitReader(body, maxPage-n+1))
	if err != nil {
		return nil, err
	}
	if n += rest; n > maxPage {
		return nil, fmt.Errorf("has more than %d bytes", int64(maxPage))
	}
	r.Length = resourcesync.Bytes(n)
	r.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: hex.EncodeToString(sum.Sum(nil))}}
	return head.Bytes(), nil
}

// isSame reports whether two checks of a page found the same version.
func isSame(known, r resourcesync.Resource) bool {
	known.LastModified, known.Stamp = r.LastModified, r.Stamp
	return known.Equal(r)
}

// notFuture returns t, or zero if it is in the future.
func notFuture(t time.Time) time.Time {
	if t.After(time.Now()) {
		return time.Time{}
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// rules is the version of the rules of package sitemap about the content of pages. With another one,
// the next scan reads each page again, even if it has not changed.
const rules = "2 "

// shortVariant returns a short name of a variant: every stamp contains it.
func shortVariant(variant string) string {
	sum := sha256.Sum256([]byte(variant))
	return hex.EncodeToString(sum[:4])
}
