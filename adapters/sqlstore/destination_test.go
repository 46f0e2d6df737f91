package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// documents is the public URL of the documents of a set, regardless of the address that
// serves them.
const documents = "https://example.org/resourcesync/"

func newSource(set *Set, pageSize int) (*rshttp.Source, error) {
	return rshttp.New(documents, []rshttp.Set{{Provider: set}}, &rshttp.Options{
		Division: rshttp.Division{PageSize: pageSize},
		Limits:   rshttp.Limits{Wait: time.Minute}, // for a turn, on a machine that has a lot to do
		Logger:   slog.New(slog.DiscardHandler),
	})
}

// serve serves the documents of set until the test ends, and returns its address.
func serve(t testing.TB, set *Set, pageSize int) string {
	t.Helper()
	source, err := newSource(set, pageSize)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(source)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// A front is a proxy in front of the current server of the documents.
type front struct {
	address atomic.Pointer[string]
	proxy   http.Transport
}

func (f *front) lead(address string) { f.address.Store(&address) }

func (f *front) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", *f.address.Load()
	return f.proxy.RoundTrip(r)
}

// A destination has a copy of the articles and updates it as Destinations do: it gets
// the Change List, or the lists of the index that may have new changes, and continues
// from the newest datetime it has seen. It fails if a change cannot be the next in the
// history of the set.
type destination struct {
	client   http.Client
	articles map[string]string // versions by key
	last     time.Time
	changes  int
	known    map[string]*list // what may be unmodified when it is asked for again
}

// A list is a Change List or an index.
type list struct {
	tag     string
	head    rsxml.Head
	entries []rsxml.Entry
}

func newDestination(t testing.TB, source *front) *destination {
	t.Cleanup(source.proxy.CloseIdleConnections)
	return &destination{client: http.Client{Transport: source}, articles: map[string]string{}, known: map[string]*list{}}
}

// errUnreachable means that the Source did not answer completely.
var errUnreachable = errors.New("the Source cannot be reached")

// follow reads new changes every 50 ms until finished is closed. It continues even if
// the Source is unreachable.
func (d *destination) follow(ctx context.Context, finished <-chan struct{}) error {
	for {
		if err := d.read(ctx); err != nil && !errors.Is(err, errUnreachable) {
			return err
		}
		select {
		case <-finished:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// read reads all new changes.
func (d *destination) read(ctx context.Context) error {
	top, err := d.get(ctx, documents+"changelist.xml")
	if err != nil {
		return err
	}
	if !top.head.Index {
		return d.apply(top)
	}
	for i, e := range top.entries {
		open := e.Metadata.Until.IsZero()
		switch {
		case i > 0 && !e.Metadata.From.Equal(top.entries[i-1].Metadata.Until):
			return fmt.Errorf("a list begins at %v, and the one before it ends at %v", e.Metadata.From, top.entries[i-1].Metadata.Until)
		case open != (i == len(top.entries)-1):
			return fmt.Errorf("list %d of %d is open: %t", i+1, len(top.entries), open)
		case !open && !e.Metadata.Until.After(d.last):
			continue
		}
		part, err := d.get(ctx, e.Loc)
		if err == nil {
			err = d.apply(part)
		}
		if err != nil {
			return err
		}
		if !part.head.Metadata.Until.IsZero() {
			delete(d.known, e.Loc) // it has said what it has to say
		}
	}
	return nil
}

// get gets a list, unless it has not changed.
func (d *destination) get(ctx context.Context, url string) (*list, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	before := d.known[url]
	if before != nil {
		r.Header.Set("If-None-Match", before.tag)
	}
	res, err := d.client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w, and nobody is left: %w", errUnreachable, err)
	case res.StatusCode == http.StatusNotModified && before != nil:
		return before, nil
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s: %s", url, res.Status, body)
	}
	got := &list{tag: res.Header.Get("ETag")}
	if got.head, got.entries, err = rsxml.Decode(bytes.NewReader(body)); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	d.known[url] = got
	return got, nil
}

// apply applies the changes that are new to d.
func (d *destination) apply(l *list) error {
	for _, e := range l.entries {
		if !e.Metadata.Datetime.After(d.last) {
			continue
		}
		key := strings.TrimPrefix(e.Loc, articleURI(""))
		version, found := d.articles[key]
		switch change := e.Metadata.Change; {
		case found == (change == resourcesync.Created):
			return fmt.Errorf("%s of %q at %v, but found is %t", change, key, e.Metadata.Datetime, found)
		case change == resourcesync.Deleted:
			delete(d.articles, key)
		case found && version == e.Metadata.Type:
			return fmt.Errorf("%s of %q at %v, but it is %s already", change, key, e.Metadata.Datetime, version)
		default:
			d.articles[key] = e.Metadata.Type
		}
		d.last = e.Metadata.Datetime
		d.changes++
	}
	return nil
}

// compare returns the differences between d, which has read all changes, and the host.
func (d *destination) compare(ctx context.Context, host *writer) error {
	articles, err := host.articles(ctx)
	if err != nil {
		return err
	}
	changes, err := host.changes(ctx)
	switch {
	case err != nil:
		return err
	case d.changes != changes:
		return fmt.Errorf("a Destination has read of %d changes, of %d", d.changes, changes)
	case len(d.articles) != len(articles):
		return fmt.Errorf("a Destination has %d articles, of %d", len(d.articles), len(articles))
	}
	for key, version := range articles {
		if d.articles[key] != version {
			return fmt.Errorf("a Destination has %q of article %q, not %q", d.articles[key], key, version)
		}
	}
	return nil
}
