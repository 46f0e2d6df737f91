package rshttp

import (
	"container/list"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	gocache "github.com/patrickmn/go-cache"

	"github.com/resourcesync-go/resourcesync/internal/render"
)

// A document is a rendered document, the state that it shows, and its header fields.
// It is immutable.
type document struct {
	render.Text
	target target
	state  *state

	// Header values, created once. Other handlers can reach them through the header
	// map, so they have no spare capacity.
	hdrETag, hdrGzipETag     []string
	hdrLength, hdrGzipLength []string
	hdrLastModified          []string
	hdrCacheControl          []string
}

var (
	hdrXML     = []string{"application/xml"}
	hdrVary    = []string{"Accept-Encoding"}
	hdrGzip    = []string{"gzip"}
	hdrNosniff = []string{"nosniff"}

	// Caches may keep documents but must revalidate them. Closed ones never change, but
	// are fresh for a day only, because other Options change the division.
	cacheAsk     = []string{"public, no-cache"}
	cacheForever = []string{"public, max-age=86400, immutable"}
)

func newDocument(t target, st *state, text render.Text) *document {
	tag := base64.RawURLEncoding.EncodeToString(text.Sum[:16])
	d := &document{
		Text:            text,
		target:          t,
		state:           st,
		hdrETag:         []string{`"` + tag + `"`},
		hdrGzipETag:     []string{`"` + tag + `-gzip"`},
		hdrLength:       []string{strconv.Itoa(text.Size)},
		hdrGzipLength:   []string{strconv.Itoa(len(text.Gzip))},
		hdrCacheControl: st.cacheControl(),
	}
	if st.modified.Unix() > 0 {
		d.hdrLastModified = []string{st.modified.UTC().Format(http.TimeFormat)}
	}
	return d
}

// stateOf returns the state that d shows. d may be nil.
func (d *document) stateOf() *state {
	if d == nil {
		return nil
	}
	return d.state
}

// cost returns the memory of d in bytes, including headers and overhead.
func (d *document) cost() int64 {
	return d.Memory() + int64(len(d.target.path)+1024)
}

// cache is an LRU cache of documents by path, limited in bytes. go-cache is the map; it has
// neither sizes nor recency, so the cache keeps those itself.
type cache struct {
	budget int64
	docs   *gocache.Cache // of *list.Element

	mu     sync.Mutex
	bytes  int64
	recent *list.List // of *document, the one requested last in front
}

func newCache(budget int64) *cache {
	return &cache{budget: budget, docs: gocache.New(gocache.NoExpiration, 0), recent: list.New()}
}

func (c *cache) get(path string) *document {
	e, ok := c.docs.Get(path)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.MoveToFront(e.(*list.Element)) // unless it has been removed
	return e.(*list.Element).Value.(*document)
}

// put caches d for its path, unless d takes more than half of the limit.
func (c *cache) put(d *document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.docs.Get(d.target.path); ok {
		c.remove(e.(*list.Element))
	}
	if d.cost() > c.budget/2 {
		return
	}
	c.bytes += d.cost()
	c.docs.SetDefault(d.target.path, c.recent.PushFront(d))
	for c.bytes > c.budget {
		c.remove(c.recent.Back())
	}
}

// remove is called with mu held.
func (c *cache) remove(e *list.Element) {
	d := c.recent.Remove(e).(*document)
	c.bytes -= d.cost()
	c.docs.Delete(d.target.path)
}

func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

func (d *document) writeTo(w io.Writer, zipped bool) error {
	if !zipped {
		return d.WritePlain(w)
	}
	_, err := w.Write(d.Gzip)
	return err
}

// notModified evaluates the preconditions of a GET or HEAD request (RFC 9110,
// section 13.2.2).
func (d *document) notModified(h http.Header, etag string, dated bool) bool {
	if values := h["If-None-Match"]; len(values) > 0 {
		for _, v := range values {
			for tag := range strings.SplitSeq(v, ",") {
				tag = strings.TrimSpace(tag)
				if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
					return true
				}
			}
		}
		return false
	}
	since := h.Get("If-Modified-Since")
	if since == "" || !dated {
		return false
	}
	t, err := http.ParseTime(since)
	return err == nil && !d.state.modified.Truncate(time.Second).After(t)
}

// acceptsGzip reports whether a client prefers gzip to the identity coding, or both equally
// (RFC 9110, section 12.5.3).
func acceptsGzip(values []string) bool {
	if len(values) == 1 && values[0] == "gzip" {
		return true
	}
	gzip, identity, other := -1.0, -1.0, -1.0
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			coding, params, _ := strings.Cut(item, ";")
			q := quality(params)
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, q)
			case "identity":
				identity = q
			case "*":
				other = q
			}
		}
	}
	if gzip < 0 {
		gzip = other
	}
	return gzip > 0 && gzip >= identity
}

// quality returns the q parameter among params. An invalid one counts as a refusal, which
// costs bandwidth but excludes no client.
func quality(params string) float64 {
	params = strings.TrimSpace(params)
	if params == "" {
		return 1
	}
	name, value, _ := strings.Cut(params, "=")
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
