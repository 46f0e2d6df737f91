package rshttp

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// keepPlain is the size in bytes up to which a document is kept uncompressed
// beside its compressed form. Larger ones are inflated for the few clients that
// do not take gzip.
const keepPlain = 16 << 10

// A document is a rendered document, whole, with what is sent before it. It is
// immutable but for its freshness.
type document struct {
	target target
	gzip   []byte
	plain  []byte // nil if larger than keepPlain
	size   int    // bytes before compression
	crc    uint32 // of those bytes

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

// seal completes a document whose bytes are there.
func (d *document) seal(sum [sha256.Size]byte) {
	tag := base64.RawURLEncoding.EncodeToString(sum[:16])
	d.hdrETag = []string{`"` + tag + `"`}
	d.hdrGzipETag = []string{`"` + tag + `-gzip"`}
	d.hdrLength = []string{strconv.Itoa(d.size)}
	d.hdrGzipLength = []string{strconv.Itoa(len(d.gzip))}
	d.hdrCacheControl = cacheAsk
	if d.forever && !d.archived {
		d.hdrCacheControl = cacheForever
	}
	if d.lastModified.Unix() > 0 {
		d.hdrLastModified = []string{d.lastModified.UTC().Format(http.TimeFormat)}
	}
}

func (d *document) path() string { return d.target.path }

// cost is the memory that d takes, in bytes, headers and bookkeeping included.
func (d *document) cost() int64 {
	return int64(cap(d.gzip) + cap(d.plain) + len(d.target.path) + 1024)
}
