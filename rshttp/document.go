package rshttp

import (
	"container/list"
	"encoding/base64"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gocache "github.com/patrickmn/go-cache"

	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// A document is a rendered document, the state that it shows, and its header fields.
// It is immutable.
type document struct {
	render.Text
	target target
	state  *state
	index  bool        // it lists documents
	dated  atomic.Bool // see isDated

	// Header values, created once. Other handlers can reach them through the header
	// map, so they have no spare capacity.
	hdrETag, hdrGzipETag     []string
	hdrLength, hdrGzipLength []string
	hdrLastModified          []string
	hdrCacheControl          []string
	hdrType                  []string
	hdrVary                  []string
}

var (
	hdrXML      = []string{"application/xml"}
	hdrVary     = []string{"Accept-Encoding"}
	hdrVaryPage = []string{"Accept-Encoding, " + pages.Vary}
	hdrGzip     = []string{"gzip"}
	hdrNosniff  = []string{"nosniff"}

	// Caches may keep documents but must revalidate them. Closed ones never change, but
	// are fresh for a day only, because other Options change the division.
	cacheAsk     = []string{"public, no-cache"}
	cacheForever = []string{"public, max-age=86400, immutable"}
)

func newDocument(t target, st *state, text render.Text, index bool) *document {
	tag := base64.RawURLEncoding.EncodeToString(text.Sum[:16])
	d := &document{
		Text:            text,
		target:          t,
		state:           st,
		index:           index,
		hdrETag:         []string{`"` + tag + `"`},
		hdrGzipETag:     []string{`"` + tag + `-gzip"`},
		hdrLength:       []string{strconv.Itoa(text.Size)},
		hdrGzipLength:   []string{strconv.Itoa(len(text.Gzip))},
		hdrCacheControl: st.cacheControl(),
		hdrType:         hdrXML,
		hdrVary:         hdrVary,
	}
	if t.kind.page != nil {
		d.hdrVary = hdrVaryPage
	}
	if st.modified.Unix() > 0 {
		d.hdrLastModified = []string{st.modified.UTC().Format(http.TimeFormat)}
	}
	return d
}

// isDated reports whether Last-Modified identifies the state of d, which stays so. Reading
// the clock can take longer than all the rest.
func (d *document) isDated() bool {
	if d.hdrLastModified == nil {
		return false
	}
	if !d.dated.Load() && d.state.dated(time.Now()) {
		d.dated.Store(true)
	}
	return d.dated.Load()
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
	return d.Memory() + partsMemory(d.state.parts) + int64(len(d.target.path)+1024)
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
