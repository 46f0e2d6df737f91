package rshttp

import (
	"encoding/base64"
	"net/http"
	"strconv"

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

// newDocument returns the document of t in the state st.
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

func (d *document) path() string { return d.target.path }

// cost returns the memory of d in bytes, including headers and overhead.
func (d *document) cost() int64 {
	return d.Memory() + partsMemory(d.state.parts) + int64(len(d.target.path)+1024)
}
