// Package replica publishes the copies of Destinations, so that a mirror is itself a Source:
// a replica of one Source, or an aggregator of many.
//
// A [Replica] wraps the Sink of each Destination. It puts each copy into a set, and serves it:
//
//	copies, err := replica.New(ctx, "https://aggregator.example.org/copies/", set, nil)
//	sink, err := copies.Sink("library", folder)
//	d, err := destination.New("https://library.example.org/", sink, &destination.Options{State: state})
//
// Each copy has a link with the relation via to its original (core specification, section
// 14.8). The set has its own journal, so its Change List has the changes of the copies in the
// order in which they were made.
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

// A Set is a stored set, such as one of package sqlstore. It must be as durable as the state of
// the Destinations, because they do not repeat the changes that they have recorded.
type Set interface {
	Put(ctx context.Context, resources ...resourcesync.Resource) error
	Delete(ctx context.Context, keys ...string) error
	Get(ctx context.Context, key string) (r resourcesync.Resource, found bool, err error)

	// Origin returns what SetOrigin has recorded, or "". A Replica records its URL.
	Origin(ctx context.Context) (string, error)
	SetOrigin(ctx context.Context, origin string) error
}

// entries are the entries of the copies.
type entries interface {
	Put(ctx context.Context, resources ...resourcesync.Resource) error
	Delete(ctx context.Context, keys ...string) error
	Get(ctx context.Context, key string) (r resourcesync.Resource, found bool, err error)
}

// Copies keep what a Destination copies, and can read it. A [destination.Folder] does so.
type Copies interface {
	destination.Sink
	destination.Verifier
}

// Options are the optional arguments of [New].
type Options struct {
	// Logger receives the copies that cannot be published. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// A Replica publishes copies. It is an [http.Handler] for them, and a [resourcesync.Opener] for
// dumps of the set. Its methods are safe for concurrent use.
type Replica struct {
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

// New returns a Replica that publishes copies in set, at URIs that begin with base. A set keeps
// its base: with another one, New fails, because copies that do not change would keep their
// URIs.
func New(ctx context.Context, base string, set Set, o *Options) (*Replica, error) {
	if o == nil {
		o = new(Options)
	}
	r, err := newReplica(base, set, o.Logger)
	if err != nil {
		return nil, err
	}
	known, err := set.Origin(ctx)
	if err == nil && known == "" {
		known = r.base
		err = set.SetOrigin(ctx, known)
	}
	if err == nil && known != r.base {
		err = fmt.Errorf("the copies are published below %s; use that URL again, or begin with a new set, new folders and a new state for %s", known, r.base)
	}
	if err != nil {
		return nil, fmt.Errorf("replica: %w", err)
	}
	return r, nil
}

func newReplica(base string, set entries, log *slog.Logger) (*Replica, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" || !strings.HasSuffix(u.Path, "/") {
		return nil, fmt.Errorf("replica: %q is not the URL of a folder, like https://example.org/copies/", base)
	}
	return &Replica{
		base: u.String(), path: u.Path, set: set, log: cmp.Or(log, slog.Default()),
		copies: make(map[string]Copies), changing: make(map[string]bool),
	}, nil
}

// Sink returns the Sink of a Destination, which stores what it copies in copies. They are
// published below the folder name, which stays the same for the life of the copy. The Sink
// is a [destination.Flusher] if copies is one.
func (r *Replica) Sink(name string, copies Copies) (destination.Sink, error) {
	if name == "" || name == "." || name == ".." || url.PathEscape(name) != name {
		return nil, fmt.Errorf("replica: the name %q is not a segment of a URL without escapes", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.copies[name+"/"] != nil {
		return nil, fmt.Errorf("replica: the name %q is in use", name)
	}
	return r.sink(name+"/", copies), nil
}

// sink is Sink with the prefix of the paths and keys of the copies: a name and a slash, or "" for
// the only ones. The caller holds the lock.
func (r *Replica) sink(prefix string, copies Copies) destination.Sink {
	r.copies[prefix] = copies
	s := sink{replica: r, prefix: prefix, copies: copies, changed: make(map[string]*resourcesync.Resource)}
	if _, ok := copies.(destination.Flusher); ok {
		return &flushingSink{s}
	}
	return &s
}

// uri returns the URI of a copy.
func (r *Replica) uri(prefix, path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return r.base + prefix + strings.Join(segments, "/")
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
func (r *Replica) find(path string) (copies Copies, prefix, copied string, ok bool) {
	rest, below := strings.CutPrefix(path, r.path)
	if !below {
		return nil, "", "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if copies = r.copies[""]; copies == nil {
		name, _, _ := strings.Cut(rest, "/")
		prefix = name + "/"
		copies = r.copies[prefix]
	}
	copied, ok = strings.CutPrefix(rest, prefix)
	return copies, prefix, copied, ok && copies != nil && copied != ""
}

// Open implements [resourcesync.Opener].
func (r *Replica) Open(ctx context.Context, res resourcesync.Resource) (io.ReadCloser, error) {
	u, err := url.Parse(res.URI)
	if err != nil {
		return nil, err
	}
	copies, _, path, ok := r.find(u.Path)
	if !ok {
		return nil, fs.ErrNotExist
	}
	res.Key = path
	return copies.Open(ctx, res)
}

// ServeHTTP serves the published copies, and answers 404 for everything else. If the content of
// a resource is an [io.ReadSeeker], it serves ranges.
func (r *Replica) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Content-Security-Policy", "sandbox") // the pages of strangers
	if !reqbody.Get(w, req) {
		return
	}
	copies, prefix, path, ok := r.find(req.URL.Path)
	if !ok {
		http.NotFound(w, req)
		return
	}
	k := key(prefix, path)
	before, stable := r.stable(k)
	res, ok, err := r.set.Get(req.Context(), k)
	var content io.ReadCloser
	if err == nil && ok {
		content, err = copies.Open(req.Context(), resourcesync.Resource{Key: path, URI: res.URI})
	}
	switch {
	case err == nil && !ok, errors.Is(err, fs.ErrNotExist):
		http.NotFound(w, req)
		return
	case err != nil:
		r.log.ErrorContext(req.Context(), "a copy cannot be served", "uri", res.URI, "error", err)
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
	if after, still := r.stable(k); stable && still && before == after && len(res.Hashes) > 0 {
		w.Header().Set("ETag", strconv.Quote(res.Hashes[0].String()))
	}
	if seeker, ok := content.(io.ReadSeeker); ok {
		http.ServeContent(w, req, "", time.Time{}, seeker)
		return
	}
	io.Copy(w, content)
}

// begin records that copies change, by path, until end.
func (r *Replica) begin(prefix string, changed map[string]*resourcesync.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range changed {
		r.changing[key(prefix, path)] = true
	}
}

func (r *Replica) end(prefix string, changed map[string]*resourcesync.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for path := range changed {
		delete(r.changing, key(prefix, path))
	}
	r.changes++
}

// stable reports whether the content of a key is that of its entry in the set. If it is so
// before and after both are read, with the same number of changes, they belong together.
func (r *Replica) stable(key string) (changes int64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changes, !r.changing[key]
}
