// Package destination copies the resources of a ResourceSync Source and keeps the copy in
// step (core specification, section 5.2).
//
//	folder, err := destination.OpenFolder("copy")
//	d, err := destination.New("https://example.org/", folder, nil)
//	report, err := d.Sync(ctx)
//
// A Source is found by any of its URLs. The first Sync makes a complete copy from its
// Resource Lists; the next ones read its Change Lists, or compare its Resource Lists if it
// has none. Follow also receives changes when they happen. A process that ends at any moment
// leaves whole files, and the next one continues. Memory does not depend on the number of
// resources.
//
// Sources of versions 1.1, 1.0 and 0.9 are read, also if their documents break rules; a
// [Report] lists these deviations. Sources are not trusted: content is verified, paths are
// safe, internal addresses are not requested, and a Source that suddenly lists little does not
// empty the copy.
package destination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/resourcesync-go/resourcesync/destination/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/copyname"
	"github.com/resourcesync-go/resourcesync/internal/fault"
	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/internal/guard"
)

// Options are the optional arguments of [New]. The zero value is usable.
type Options struct {
	// State is the folder for the state of the copy and for partial downloads. If
	// empty, the Sink must be a [Folder], and the state is beside its files.
	State string

	// Rate is the maximum number of requests per second to a host, and Concurrency the maximum
	// number of concurrent requests. If zero, the rate is not limited, and 4 requests are
	// concurrent. A robots.txt can ask for a lower rate.
	Rate        float64
	Concurrency int

	// Allow are networks with internal addresses that may be requested. The host and port
	// of the Source's URL always may; other internal addresses never, so that a Source
	// cannot use the Destination to reach them.
	Allow []netip.Prefix

	// MaxResource is the maximum size of a resource in bytes, and MaxBytes the maximum size of the
	// copy. If zero, there is no limit.
	MaxResource int64
	MaxBytes    int64

	// MaxState is the maximum size of the database with the state of the copy, in bytes.
	// It takes about 500 bytes for each resource. A Source can list any number, so a Sync
	// that needs more fails. If zero, 16 GiB is used.
	MaxState int64

	// Only restricts a new copy to the Resource List or Resource Dump at this URL, and to the
	// Change Lists and dumps of its set. The state keeps it, and New fails if the copy is a copy of
	// another list. If empty, a new copy is a copy of all lists of the Source. With Moved, it is
	// the list at the new URL of the Source.
	Only string

	// Dumps determines whether Resource Dumps and Change Dumps are used; see [DumpsAuto].
	Dumps Dumps

	// MaxDelete is the fraction of a set that is deleted if Resource Lists do not list it any
	// more. More deletions are held until a Sync with a higher limit; one or two never are, unless
	// nothing would be left. The resources of a set that the Source no longer names are
	// held, however few there are; see [GoneSet]. If zero, 0.25 is used; 1 deletes any number.
	// Deletions in Change Lists are not limited.
	MaxDelete float64

	// Moved continues a copy whose Source has a new URL. The first Sync makes sure that the Source
	// lists resources of the copy, under their URIs or under those that the new URL of the Source
	// suggests. It compares the Resource Lists with the copy, and requests the resources that
	// differ. It does nothing if the URL is the same.
	Moved bool

	// Rebuild rebuilds the state from the contents of the Sink, a Verifier, and from the Source. A
	// state that is damaged is put aside. A resource without a state whose content is at its place
	// is adopted: without a request, if its entry has a hash. Other content there stays, and
	// counts as a failure, unless Replace is set.
	Rebuild bool
	Replace bool

	// IgnoreRobots requests URLs that a robots.txt disallows.
	IgnoreRobots bool

	// UserAgent is sent with requests; its first word is the name in robots.txt. If
	// empty, "resourcesync" is used.
	UserAgent string

	// Name names the copy to the operators of the Source: it is added to the User-Agent, as in
	// "resourcesync (name=library-berlin)". It is a token (RFC 9110, section 5.6.2) of at most 64
	// bytes. Only the host and port of the Source's URL receive it and, if that begins with http
	// and has no port, the same host by https; not other hosts to which redirects or lists lead.
	// If empty, the copy has no name.
	Name string

	// Progress receives the progress of a Sync or Audit, a few times per second. It must
	// not block. It may be nil.
	Progress func(Progress)

	// Logger receives failures. If nil, slog.Default() is used.
	Logger *slog.Logger
}

// defaultMaxState is the default of Options.MaxState, in bytes.
const defaultMaxState = 16 << 30

// Progress is the progress of a Sync or Audit.
type Progress struct {
	Listed  int64 `json:"listed"`  // entries that have been read
	Pending int64 `json:"pending"` // known resources that are still to be copied
	Done    int64 `json:"done"`    // resources that have been copied, deleted or compared
	Bytes   int64 `json:"bytes"`   // bytes of content that have been received
}

// A Destination copies one Source. Its methods are safe for concurrent use. Syncs,
// including those that Follow starts, and audits run one at a time.
type Destination struct {
	source  string
	host    string // of the source, for paths
	sink    Sink
	options Options
	at      string       // the folder of the state
	folder  fetch.Folder // for partial downloads
	log     *slog.Logger
	client  *fetch.Client
	limits  guard.Limits
	only    string // the list that is copied, or "" for all
	watch   watch

	mu        sync.Mutex
	state     *state.State
	folders   *folderLog      // that the Sink has made
	unflushed bool            // the Sink may have changes that have not been flushed
	size      size            // after the last Sync
	paused    bool            // the state has pauses of hosts
	gone      map[string]bool // the sets whose deletions the last Sync has held as a whole
}

// size is the size of a copy.
type size struct{ resources, bytes int64 }

// New returns a Destination that copies the Source at the URL source to sink. source can be
// the URL of the site, of any of its documents, or of a page that links to a Capability List.
// If another process uses the state, New fails. Callers close the Destination.
func New(source string, sink Sink, o *Options) (*Destination, error) {
	return open(source, sink, o, seams{})
}

// seams replace the connections of a Destination to the outside, in tests.
type seams struct {
	transport http.RoundTripper // instead of connections
	hook      fault.Hook        // before each change of the state and of partial downloads
}

func open(source string, sink Sink, o *Options, with seams) (*Destination, error) {
	if o == nil {
		o = &Options{}
	}
	u, err := url.Parse(source)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("destination: %q is not the URL of a Source, like https://example.org/", source)
	case sink == nil:
		return nil, errors.New("destination: a Destination needs a Sink")
	case o.Dumps != DumpsAuto && o.Dumps != DumpsAlways && o.Dumps != DumpsNever:
		return nil, fmt.Errorf("destination: unknown Dumps %q", o.Dumps)
	case o.Rate < 0 || o.Concurrency < 0 || o.MaxResource < 0 || o.MaxBytes < 0 || o.MaxState < 0 || o.MaxDelete < 0:
		return nil, errors.New("destination: Rate, Concurrency and limits must not be negative")
	case o.Name != "" && !copyname.Valid(o.Name):
		return nil, fmt.Errorf("destination: Name is %q; give %s", o.Name, copyname.Rule)
	}
	source = normal(u)
	d := &Destination{source: source, host: u.Host, sink: sink, options: *o, log: cmp.Or(o.Logger, slog.Default())}
	d.watch.now.Source = source
	d.limits = guard.NewLimits(o.MaxDelete, -1)
	at := o.State
	if folder, ok := sink.(*Folder); ok && at == "" {
		at = filepath.Join(folder.name, stateFolder)
	}
	if at == "" {
		return nil, errors.New("destination: Options.State is missing; it is optional for a Folder only")
	}
	d.at = at
	d.folder = fetch.Folder{Name: filepath.Join(at, "partial"), Hook: with.hook}
	if err := os.MkdirAll(at, 0o700); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	if err := d.openState(filepath.Join(at, "state.db"), cmp.Or(o.MaxState, defaultMaxState), with); err != nil {
		return nil, fmt.Errorf("destination: %w", err)
	}
	os.RemoveAll(filepath.Join(at, auditsFolder)) // a process that still waits renews its request
	d.folders = &folderLog{d.state, make(map[string]bool)}
	err = d.restrict(context.Background())
	if err == nil {
		err = d.prepare(context.Background())
	}
	if err != nil {
		d.state.Close()
		return nil, fmt.Errorf("destination: %w", err)
	}
	d.client = fetch.New(fetch.Options{
		Trusted: []string{fetch.HostPort(u)}, Allow: o.Allow, Rate: o.Rate, Concurrency: o.Concurrency,
		UserAgent: o.UserAgent, IgnoreRobots: o.IgnoreRobots, Transport: with.transport,
		Name: o.Name, NameTo: nameTo(u),
	})
	if err := d.resumePauses(); err != nil {
		d.state.Close()
		return nil, fmt.Errorf("destination: %w", err)
	}
	return d, nil
}

// nameTo returns the hosts with ports that receive the name of a copy of the Source at u. A Source
// at http often leads to https.
func nameTo(u *url.URL) []string {
	all := []string{fetch.HostPort(u)}
	if u.Scheme == "http" && u.Port() == "" {
		all = append(all, fetch.HostPort(&url.URL{Scheme: "https", Host: u.Host}))
	}
	return all
}

// normal returns the normal form of a URL, because the state belongs to one Source.
func normal(u *url.URL) string {
	n := *u
	n.Host, n.Fragment = strings.ToLower(u.Host), ""
	if n.Path == "" {
		n.Path = "/"
	}
	return n.String()
}

// Close releases the state. It does not close the Sink.
func (d *Destination) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.client.CloseIdle()
	return d.state.Close()
}

// A meter reports progress.
type meter struct {
	Progress
	report func(Progress)
	last   time.Time
}

// progressEvery is the interval between reports of progress.
const progressEvery = 200 * time.Millisecond

func (m *meter) update() {
	if time.Since(m.last) >= progressEvery {
		m.last = time.Now()
		m.report(m.Progress)
	}
}
