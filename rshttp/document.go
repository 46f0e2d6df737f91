package rshttp

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/render"
)

// A document is a rendered document, whole, with what is sent before it. It is
// immutable but for its freshness.
type document struct {
	target target
	render.Text

	lastModified time.Time // zero if not known

	// Header values, made once. Handlers of others may see them through the
	// header map, so they have no room to append to.
	hdrETag, hdrGzipETag     []string
	hdrLength, hdrGzipLength []string
	hdrLastModified          []string
	hdrCacheControl          []string

	// What the document is a function of. A document of which nothing is
	// known has no version and is made anew for each request.
	forever    bool               // what is past and will never change
	from       time.Time          // of a Change List that is forever
	archived   bool               // of the archive, not of the journal
	erased     time.Time          // when something was last erased from that
	keys       resourcesync.Range // the resources in this range
	version    string             // of that range, or of a journal
	setVersion atomic.Pointer[string]
	division   uint64                // of which it is the index; zero if of none
	packages   resourcesync.Interval // that those of a Change Dump cover
	rest       time.Time             // until when it is not made anew, whatever has changed
}

var (
	hdrXML     = []string{"application/xml"}
	hdrVary    = []string{"Accept-Encoding"}
	hdrGzip    = []string{"gzip"}
	hdrNosniff = []string{"nosniff"}

	// Caches may keep documents but must ask whether they still hold;
	// closed ones hold for ever. For ever is a day at a time, because other
	// Options divide the past otherwise.
	cacheAsk     = []string{"public, no-cache"}
	cacheForever = []string{"public, max-age=86400, immutable"}
)

// complete gives d its text, and the header fields that are sent before it.
func (d *document) complete(text render.Text, err error) (*document, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.target.path, err)
	}
	d.Text = text
	tag := base64.RawURLEncoding.EncodeToString(text.Sum[:16])
	d.hdrETag = []string{`"` + tag + `"`}
	d.hdrGzipETag = []string{`"` + tag + `-gzip"`}
	d.hdrLength = []string{strconv.Itoa(d.Size)}
	d.hdrGzipLength = []string{strconv.Itoa(len(d.Gzip))}
	d.hdrCacheControl = cacheAsk
	if d.forever && !d.archived {
		d.hdrCacheControl = cacheForever
	}
	if d.lastModified.Unix() > 0 {
		d.hdrLastModified = []string{d.lastModified.UTC().Format(http.TimeFormat)}
	}
	return d, nil
}

func (d *document) path() string { return d.target.path }

// cost is the memory that d takes, in bytes, headers and bookkeeping included.
func (d *document) cost() int64 {
	return d.Memory() + int64(len(d.target.path)+1024)
}
