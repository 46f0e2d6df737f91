// Package browse shows the folders of a [dir.Dir] to people: index.html where there is
// one, and otherwise a page that lists what is published in the folder, with a search.
//
// A page is read from the set in which scans record the files, not from the folder: it
// shows what the Resource List shows, except files that do not exist at the moment. It
// costs the same in a folder of ten files and in one of a million.
package browse

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/internal/accept"
	"github.com/resourcesync-go/resourcesync/internal/admission"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
	"github.com/resourcesync-go/resourcesync/linkheader"
)

const (
	// timeout is the maximum time in which a page is read, and wait the maximum time
	// before that while others are.
	timeout = 10 * time.Second
	wait    = 5 * time.Second

	indexPage = "index.html"
)

// A Set has the resources that scans of a [dir.Dir] have found. sqlstore.Set is one. All
// methods are safe for concurrent use; before the first scan they return
// [resourcesync.ErrNotReady].
type Set interface {
	resourcesync.Stater

	// First yields the first n resources whose keys are in r, in ascending order.
	First(ctx context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error]

	// Folder returns the first n entries of a folder in ascending order: the resources
	// directly in it whose keys are in r, and for each subfolder that has such
	// resources a Resource that has a Key only, which ends in a slash. folder is empty
	// or ends in a slash.
	Folder(ctx context.Context, folder string, r resourcesync.Range, n int) ([]resourcesync.Resource, error)
}

// Options are the optional arguments of [Handler].
type Options struct {
	// Source is the URL of a page about the Source, to which the pages link.
	//
	// If empty, there is no link.
	Source string

	// Logger receives errors.
	//
	// If nil, slog.Default() is used.
	Logger *slog.Logger
}

// Handler serves the files as [dir.Dir.Handler] does, and its folders to people. The URL
// of a folder ends in a slash; without it, the client is redirected. The URL of a folder
// with an index.html serves that file, with a Link header that names the file's own URL as
// the canonical one: only that is listed. All other folders with published files have a
// page. Its query parameters are q, the text to search for, and after, the name after which
// it begins.
//
// At most GOMAXPROCS pages are read at a time, a quarter of them for searches. Others wait,
// and are answered 503 after 5 seconds.
func Handler(files *dir.Dir, set Set, o *Options) http.Handler {
	if o == nil {
		o = &Options{}
	}
	base, err := url.Parse(files.URL())
	if err != nil {
		panic(err) // dir.Open has parsed it
	}
	b := &browser{
		dir:     files,
		set:     set,
		base:    base,
		source:  o.Source,
		limiter: admission.NewLimiter(max(2, runtime.GOMAXPROCS(0))),
		log:     cmp.Or(o.Logger, slog.Default()),
	}
	b.files = files.Handler(http.HandlerFunc(b.redirect))
	return b
}

var look = sync.OnceValue(func() *webpage.Look {
	l, err := webpage.New("", webpage.Own{})
	if err != nil {
		panic(err) // only a style sheet of a host can be refused
	}
	return l
})

type browser struct {
	dir     *dir.Dir
	set     Set
	files   http.Handler
	base    *url.URL
	source  string
	limiter admission.Limiter
	log     *slog.Logger
	sparse  sparse.Log
}

func (b *browser) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key, ok := b.dir.Key(r.URL)
	if !ok || key != "" && !strings.HasSuffix(key, "/") {
		b.files.ServeHTTP(w, r)
		return
	}
	w.Header().Set("X-Content-Type-Options", "nosniff")
	switch {
	case !reqbody.Get(w, r):
	case len(key) > resourcesync.MaxKeyLength || !b.dir.Lists(key):
		http.NotFound(w, r)
	case b.dir.Lists(key + indexPage):
		b.serveIndex(w, r, key)
	default:
		b.serveFolder(w, r, key)
	}
}

// serveIndex serves the index page of a folder at the URL of the folder.
func (b *browser) serveIndex(w http.ResponseWriter, r *http.Request, folder string) {
	own := b.path(folder + indexPage)
	h := w.Header()
	h.Set("Content-Location", own)
	h.Add("Link", linkheader.Link{Target: b.base.Scheme + "://" + b.base.Host + own, Rel: "canonical"}.String())
	file := r.WithContext(r.Context())
	file.URL = &url.URL{Path: b.base.Path + folder + indexPage}
	b.files.ServeHTTP(w, file)
}

// redirect redirects to a folder with published files whose URL lacks the slash at its end.
func (b *browser) redirect(w http.ResponseWriter, r *http.Request) {
	with := *r.URL
	with.Path += "/"
	if with.RawPath != "" {
		with.RawPath += "/"
	}
	folder, ok := b.dir.Key(&with)
	if !ok || len(folder) > resourcesync.MaxKeyLength || !b.dir.Lists(folder) {
		http.NotFound(w, r)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	if err := b.check(ctx, folder); err != nil {
		b.fail(w, r, err)
		return
	}
	to := url.URL{Path: b.base.Path + folder, RawQuery: r.URL.RawQuery}
	http.Redirect(w, r, to.String(), http.StatusMovedPermanently)
}

// path returns the URL of a file or folder without scheme and host. All base URLs have
// a path that begins with a slash.
func (b *browser) path(key string) string {
	return (&url.URL{Path: b.base.Path + key}).EscapedPath()
}

func (b *browser) serveFolder(w http.ResponseWriter, r *http.Request, folder string) {
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	defer cancel()
	l, err := b.limited(ctx, folder, r.URL.Query())
	if err != nil {
		b.fail(w, r, err)
		return
	}
	html, err := b.render(l)
	if err != nil {
		b.fail(w, r, err)
		return
	}
	h := w.Header()
	if l.Query != "" {
		h.Set("X-Robots-Tag", "noindex, nofollow") // every text has such a page
	}
	send(w, r, html)
}

// limited reads a page when its turn has come.
func (b *browser) limited(ctx context.Context, folder string, query url.Values) (*listing, error) {
	after, text := query.Get("after"), cleanQuery(query.Get("q"))
	if err := b.limiter.AcquireWithin(ctx, wait, text != ""); err != nil {
		return nil, err
	}
	defer b.limiter.Release(text != "")
	if text != "" {
		return b.search(ctx, folder, text, after)
	}
	return b.list(ctx, folder, after)
}

var writers = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // of a wrong level
	}
	return w
}}

// send sends a page, which caches must validate before they use it.
func send(w http.ResponseWriter, r *http.Request, html []byte) {
	h := w.Header()
	look().SetHeaders(h)
	h.Set("Cache-Control", "no-cache")
	h.Add("Vary", "Accept-Encoding")
	sum := sha256.Sum256(html)
	etag := hex.EncodeToString(sum[:12])
	if accept.Gzip(r.Header["Accept-Encoding"]) {
		var b bytes.Buffer
		z := writers.Get().(*gzip.Writer)
		z.Reset(&b)
		z.Write(html) // a bytes.Buffer takes everything
		z.Close()
		writers.Put(z)
		html, etag = b.Bytes(), etag+"-gzip"
		h.Set("Content-Encoding", "gzip")
		if r.Header.Get("If-Match") == "" { // a 412 has no body
			h.Set("Content-Length", strconv.Itoa(len(html))) // ServeContent omits it for encoded content
		}
	}
	h.Set("Etag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(html))
}

// fail answers a request for a folder that cannot be listed.
func (b *browser) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := &webpage.Page{Title: "Not available at the moment", Now: time.Now()}
	retryAfter, refresh := "30", false
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, r)
		return
	case errors.Is(err, resourcesync.ErrNotReady):
		p.Title, p.Intro = "Not ready yet", "The files are being listed for the first time. This page reloads itself."
		retryAfter, refresh = "5", true
	case errors.Is(err, admission.ErrBusy):
		p.Title, p.Intro = "Busy", "Too many folders are being listed at the moment. Try again soon."
		retryAfter = "5"
	case r.Context().Err() == nil:
		p.Intro = "The folder cannot be listed at the moment. Try again later."
		b.sparse.Log(r.Context(), b.log, slog.LevelError, "browse: folder not listed", slog.String("path", r.URL.Path), slog.Any("error", err))
	}
	p.Site, p.Home = b.base.Host, b.base.Path
	html, err := look().Render(p, again(r.URL.RequestURI()))
	if err != nil {
		html = []byte(p.Intro)
	}
	h := w.Header()
	look().SetHeaders(h)
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", retryAfter)
	if refresh {
		h.Set("Refresh", retryAfter)
	}
	w.WriteHeader(http.StatusServiceUnavailable)
	if r.Method != http.MethodHead {
		w.Write(html) // fails if the client has left
	}
}
