// Package replica publishes the copies of Sources, so that a mirror is itself a Source. Each copy
// has a link with the relation via to its original (core specification, section 14.8), and a copy
// of a copy keeps the link to the first original.
//
// An [Origin] copies one Source into one set, and follows it. Most programs need nothing
// else, even to publish several Sources, each as a set:
//
//	library, err := replica.New("https://library.example.org/", "https://example.org/library/", "copies", nil)
//	set, err := scan.Into(ctx, store, "library", library, nil)
//
// An [Aggregator] publishes the copies of any number of Sources as one set, with one Resource List
// and one Change List. The program runs the Destinations:
//
//	copies, err := replica.NewAggregator(ctx, "https://aggregator.example.org/copies/", set, nil)
//	sink, err := copies.Sink("library", folder)
//	d, err := destination.New("https://library.example.org/", sink, &destination.Options{State: state})
package replica

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/reqbody"
)

// A Set is the stored set of an [Aggregator], such as one of package sqlstore. It must be as
// durable as the state of the Destinations, because they do not repeat the changes that they have
// recorded.
type Set interface {
	Put(ctx context.Context, resources ...resourcesync.Resource) error
	Delete(ctx context.Context, keys ...string) error
	Get(ctx context.Context, key string) (r resourcesync.Resource, found bool, err error)

	// Origin returns what SetOrigin has recorded, or "". An Aggregator records its
	// base URL.
	Origin(ctx context.Context) (string, error)
	SetOrigin(ctx context.Context, origin string) error
}

// entries are the entries of the copies.
type entries interface {
	Put(ctx context.Context, resources ...resourcesync.Resource) error
	Delete(ctx context.Context, keys ...string) error
	Get(ctx context.Context, key string) (r resourcesync.Resource, found bool, err error)
}

// Copies store the copies of a Destination, and open them again. A [destination.Folder] is one.
type Copies interface {
	destination.Sink
	destination.Verifier
}

// AggregatorOptions are the optional arguments of [NewAggregator]. The zero value is valid.
type AggregatorOptions struct {
	// Logger receives the copies that cannot be published. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// An Aggregator publishes the copies of any number of Destinations as one set. It is an
// [http.Handler] for the copies, and a [resourcesync.Opener] for dumps of the set. The journal of
// the set has the changes of all copies in the order in which they were made. Methods are safe for
// concurrent use.
type Aggregator struct {
	base string // ends in a slash
	path string // of base
	set  entries
	log  *slog.Logger

	exclude func(path string) bool // the path of a URL; nil if none is excluded

	mu       sync.Mutex
	copies   map[string]Copies // by name
	changing map[string]bool   // keys whose content may differ from the set
	changes  int64             // the number of times that keys have stopped changing
}

// NewAggregator returns an Aggregator that publishes copies in set, at URIs that begin with base,
// which ends in a slash. A set keeps its base: with another one, NewAggregator fails, because
// copies that do not change would keep their URIs. o may be nil.
func NewAggregator(ctx context.Context, base string, set Set, o *AggregatorOptions) (*Aggregator, error) {
	if o == nil {
		o = new(AggregatorOptions)
	}
	a, err := newAggregator(base, set, o.Logger)
	if err != nil {
		return nil, err
	}
	known, err := set.Origin(ctx)
	if err == nil && known == "" {
		known = a.base
		err = set.SetOrigin(ctx, known)
	}
	if err == nil && known != a.base {
		err = fmt.Errorf("the copies are published below %s; use that URL again, or begin with a new set, new folders and a new state for %s", known, a.base)
	}
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return a, nil
}

func newAggregator(base string, set entries, log *slog.Logger) (*Aggregator, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || !strings.HasSuffix(u.Path, "/") {
		return nil, fmt.Errorf("replica: %q is not the URL of a folder, like https://example.org/copies/", base)
	}
	return &Aggregator{
		base: u.String(), path: u.Path, set: set, log: cmp.Or(log, slog.Default()),
		copies: make(map[string]Copies), changing: make(map[string]bool),
	}, nil
}

// Sink returns the Sink of a Destination, which stores its copies in copies. They are published
// below the folder name: a segment of a URL that needs no escapes, which stays the same for the
// life of the copy. Sink fails if another Sink has the name. The Sink is a [destination.Flusher]
// if copies is one.
func (a *Aggregator) Sink(name string, copies Copies) (destination.Sink, error) {
	if name == "" || name == "." || name == ".." || url.PathEscape(name) != name {
		return nil, fmt.Errorf("replica: the name %q is not a segment of a URL without escapes", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.copies[name+"/"] != nil {
		return nil, fmt.Errorf("replica: the name %q is in use", name)
	}
	return a.sink(name+"/", copies), nil
}

// sink is like Sink, with the prefix of the paths and keys of the copies: a name and a slash, or
// "" for the only ones. The caller holds the lock.
func (a *Aggregator) sink(prefix string, copies Copies) destination.Sink {
	a.copies[prefix] = copies
	s := sink{aggregator: a, prefix: prefix, copies: copies, changed: make(map[string]*resourcesync.Resource)}
	if _, ok := copies.(destination.Flusher); ok {
		return &flushingSink{s}
	}
	return &s
}

// uri returns the URI of a copy.
func (a *Aggregator) uri(prefix, path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return a.base + prefix + strings.Join(segments, "/")
}

// key returns the key of a copy in the set. A path can be as long as a key.
func key(prefix, path string) string {
	k := prefix + path
	if len(k) <= resourcesync.MaxKeyLength {
		return k
	}
	sum := sha256.Sum256([]byte(path))
	return prefix + hex.EncodeToString(sum[:])
}

// find returns the Copies that have the copy at the path of a URL, and the path of the copy in it.
func (a *Aggregator) find(path string) (copies Copies, prefix, copied string, ok bool) {
	rest, below := strings.CutPrefix(path, a.path)
	if !below {
		return nil, "", "", false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if copies = a.copies[""]; copies == nil {
		name, _, _ := strings.Cut(rest, "/")
		prefix = name + "/"
		copies = a.copies[prefix]
	}
	copied, ok = strings.CutPrefix(rest, prefix)
	return copies, prefix, copied, ok && copies != nil && copied != ""
}

// Open implements [resourcesync.Opener].
func (a *Aggregator) Open(ctx context.Context, res resourcesync.Resource) (io.ReadCloser, error) {
	u, err := url.Parse(res.URI)
	if err != nil {
		return nil, err
	}
	copies, _, path, ok := a.find(u.Path)
	if !ok {
		return nil, fs.ErrNotExist
	}
	res.Key = path
	return copies.Open(ctx, res)
}

// ServeHTTP serves the published copies, and answers 404 for everything else. If the content of
// a resource is an [io.ReadSeeker], it serves ranges.
func (a *Aggregator) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "sandbox") // the pages of strangers
	if !reqbody.Get(w, req) {
		return
	}
	copies, prefix, path, ok := a.find(req.URL.Path)
	if !ok {
		http.NotFound(w, req)
		return
	}
	k := key(prefix, path)
	before, stable := a.stable(k)
	res, ok, err := a.set.Get(req.Context(), k)
	var content io.ReadCloser
	if err == nil && ok {
		content, err = copies.Open(req.Context(), resourcesync.Resource{Key: path, URI: res.URI})
	}
	switch {
	case err == nil && !ok, errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, req)
		return
	case err != nil:
		a.log.ErrorContext(req.Context(), "a copy cannot be served", "uri", res.URI, "error", err)
		http.Error(w, "The copy cannot be read. Try again later.", http.StatusInternalServerError)
		return
	}
	defer content.Close()
	contentType := res.Type
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	w.Header().Set("Content-Type", contentType)
	if res.Encoding != "" {
		w.Header().Set("Content-Encoding", res.Encoding)
	}
	if after, still := a.stable(k); stable && still && before == after && len(res.Hashes) > 0 {
		w.Header().Set("ETag", strconv.Quote(res.Hashes[0].String()))
	}
	if seeker, ok := content.(io.ReadSeeker); ok {
		http.ServeContent(w, req, "", time.Time{}, seeker)
		return
	}
	io.Copy(w, content)
}

// begin records that copies change, by path, until end.
func (a *Aggregator) begin(prefix string, changed map[string]*resourcesync.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for path := range changed {
		a.changing[key(prefix, path)] = true
	}
}

func (a *Aggregator) end(prefix string, changed map[string]*resourcesync.Resource) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for path := range changed {
		delete(a.changing, key(prefix, path))
	}
	a.changes++
}

// stable reports whether the content of a key belongs to its entry in the set. A reader
// asks before and after it reads both: they belong together if stable returns true and the
// same number of changes both times.
func (a *Aggregator) stable(key string) (changes int64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changes, !a.changing[key]
}
