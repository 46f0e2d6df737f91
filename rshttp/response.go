package rshttp

import (
	"container/list"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	gocache "github.com/patrickmn/go-cache"

	"github.com/resourcesync-go/resourcesync/internal/accept"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
)

// A response is a document with its header fields. It is immutable.
type response struct {
	*document.Document
	target document.Target
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

func newResponse(t document.Target, doc *document.Document) *response {
	tag := doc.Tag()
	d := &response{
		Document:        doc,
		target:          t,
		hdrETag:         []string{`"` + tag + `"`},
		hdrGzipETag:     []string{`"` + tag + `-gzip"`},
		hdrLength:       []string{strconv.Itoa(doc.Size)},
		hdrGzipLength:   []string{strconv.Itoa(len(doc.Gzip))},
		hdrCacheControl: cacheControl(doc.State),
		hdrType:         hdrXML,
		hdrVary:         hdrVary,
	}
	if t.Kind.Page != nil {
		d.hdrVary = hdrVaryPage
	}
	if at := doc.State.Modified; at.Unix() > 0 {
		d.hdrLastModified = []string{at.UTC().Format(http.TimeFormat)}
	}
	return d
}

// cacheControl returns the Cache-Control of a document in the state st.
func cacheControl(st *document.State) []string {
	if st.Immutable() {
		return cacheForever
	}
	return cacheAsk
}

// isDated reports whether Last-Modified identifies the state of d. Once it does, it always does, so
// the result is kept: reading the clock can take longer than everything else.
func (d *response) isDated() bool {
	if d.hdrLastModified == nil {
		return false
	}
	if !d.dated.Load() && d.State.Dated(time.Now()) {
		d.dated.Store(true)
	}
	return d.dated.Load()
}

// stateOf returns the state that d shows. d may be nil.
func (d *response) stateOf() *document.State {
	if d == nil {
		return nil
	}
	return d.State
}

// documentOf returns the document of d, which may be nil.
func (d *response) documentOf() *document.Document {
	if d == nil {
		return nil
	}
	return d.Document
}

// cost returns the memory of d in bytes, including headers and overhead.
func (d *response) cost() int64 {
	return d.Cost() + int64(len(d.target.Path)+1024)
}

// cache is an LRU cache of documents by path, limited in bytes. go-cache is the map; it has
// neither sizes nor recency, so the cache keeps those itself.
type cache struct {
	budget int64
	docs   *gocache.Cache // of *list.Element

	mu     sync.Mutex
	bytes  int64
	recent *list.List // of *response, the one requested last in front
}

func newCache(budget int64) *cache {
	return &cache{budget: budget, docs: gocache.New(gocache.NoExpiration, 0), recent: list.New()}
}

func (c *cache) get(path string) *response {
	e, ok := c.docs.Get(path)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent.MoveToFront(e.(*list.Element)) // unless it has been removed
	return e.(*list.Element).Value.(*response)
}

// put caches d for its path, unless d takes more than half of the limit.
func (c *cache) put(d *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.docs.Get(d.target.Path); ok {
		c.remove(e.(*list.Element))
	}
	if d.cost() > c.budget/2 {
		return
	}
	c.bytes += d.cost()
	c.docs.SetDefault(d.target.Path, c.recent.PushFront(d))
	for c.bytes > c.budget {
		c.remove(c.recent.Back())
	}
}

// remove is called with mu held.
func (c *cache) remove(e *list.Element) {
	d := c.recent.Remove(e).(*response)
	c.bytes -= d.cost()
	c.docs.Delete(d.target.Path)
}

func (c *cache) size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes
}

// send answers r with doc, or with 304.
func (s *server) send(w http.ResponseWriter, r *http.Request, doc *response) {
	h := w.Header()
	if before := h["Vary"]; len(before) > 0 {
		h["Vary"] = append(before, doc.hdrVary...)
	} else {
		h["Vary"] = doc.hdrVary
	}
	h["Cache-Control"] = doc.hdrCacheControl
	dated := doc.isDated()
	if dated {
		h["Last-Modified"] = doc.hdrLastModified
	}
	zipped := accept.Gzip(r.Header["Accept-Encoding"])
	etag := doc.hdrETag
	if zipped {
		etag = doc.hdrGzipETag
	}
	h["Etag"] = etag
	if doc.notModified(r.Header, etag[0], dated) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h["Content-Type"] = doc.hdrType
	h["X-Content-Type-Options"] = hdrNosniff
	if zipped {
		h["Content-Encoding"] = hdrGzip
		h["Content-Length"] = doc.hdrGzipLength
	} else {
		h["Content-Length"] = doc.hdrLength
	}
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	if err := doc.writeTo(w, zipped); err != nil && r.Context().Err() == nil {
		// The status has been sent; the client sees the closed connection.
		s.sparse.Log(r.Context(), s.log, slog.LevelDebug, "document not sent", slog.String("path", doc.target.Path), slog.Any("error", err))
		panic(http.ErrAbortHandler)
	}
}

func (d *response) writeTo(w io.Writer, zipped bool) error {
	if !zipped {
		return d.WritePlain(w)
	}
	_, err := w.Write(d.Gzip)
	return err
}

// notModified evaluates the preconditions of a GET or HEAD request (RFC 9110,
// section 13.2.2).
func (d *response) notModified(h http.Header, etag string, dated bool) bool {
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
	return err == nil && !d.State.Modified.Truncate(time.Second).After(t)
}
