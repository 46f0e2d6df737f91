package scan_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/scan"
)

type listing = iter.Seq2[resourcesync.Resource, error]

// A folder is an origin in the time of a synctest bubble.
type folder struct {
	takes time.Duration // each scan

	mu         sync.Mutex
	files      []resourcesync.Resource
	unreadable []resourcesync.Range
	err        error // at the end of each scan
	began      time.Time
	scans      []string // when they began
	parts      []string // the paths of each scan of a part
}

func (f *folder) Resources(context.Context) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		f.mu.Lock()
		f.scans = append(f.scans, time.Since(f.began).String())
		files, unreadable, err := f.files, f.unreadable, f.err
		f.mu.Unlock()
		time.Sleep(f.takes)
		for _, keys := range unreadable {
			if !yield(resourcesync.Resource{}, &resourcesync.UnreadableError{Keys: keys, Err: errors.New("no access to " + keys.From)}) {
				return
			}
		}
		for _, r := range files {
			if !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(resourcesync.Resource{}, err)
		}
	}
}

// set sets what scans find and end with.
func (f *folder) set(err error, keys ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files, f.err = files(keys...), err
}

func (f *folder) want(t *testing.T, scans string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if got := strings.Join(f.scans, " "); got != scans {
		t.Errorf("scans at %s, want %s", got, scans)
	}
}

func file(key string) resourcesync.Resource {
	return resourcesync.Resource{Key: key, URI: "http://example.org/" + key}
}

func files(keys ...string) (all []resourcesync.Resource) {
	for _, key := range keys {
		all = append(all, file(key))
	}
	return all
}

// A watched folder reports that anything may have changed.
type watched struct {
	*folder
	deaf error // of watching
	wake func()
}

func (w *watched) Watch(ctx context.Context, changed func(paths []string)) error {
	if w.deaf != nil {
		return w.deaf
	}
	w.wake = func() { changed(nil) }
	<-ctx.Done()
	return ctx.Err()
}

// A parted folder reports which files have changed.
type parted struct {
	*folder
	wake func()
	tell func(paths ...string)
}

func (p *parted) Watch(ctx context.Context, changed func(paths []string)) error {
	p.wake = func() { changed(nil) }
	p.tell = func(paths ...string) { changed(paths) }
	time.Sleep(time.Millisecond)
	changed(nil)
	<-ctx.Done()
	return ctx.Err()
}

// Part lists the files at paths.
func (p *parted) Part(_ context.Context, paths []string) (ranges []resourcesync.Range, part listing) {
	for _, path := range paths {
		ranges = append(ranges, resourcesync.Range{From: path, To: path + "\x00"})
	}
	return ranges, func(yield func(resourcesync.Resource, error) bool) {
		p.mu.Lock()
		p.parts = append(p.parts, strings.Join(paths, ","))
		files, err := p.files, p.err
		p.mu.Unlock()
		for _, r := range files {
			if slices.Contains(paths, r.Key) && !yield(r, nil) {
				return
			}
		}
		if err != nil {
			yield(resourcesync.Resource{}, err)
		}
	}
}

// A logged is a log that is read while it is written.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// lines returns the messages with their attributes.
func (l *logged) lines() (lines []string) {
	for line := range strings.Lines(l.String()) {
		_, msg, _ := strings.Cut(strings.TrimSpace(line), "msg=")
		lines = append(lines, msg)
	}
	return lines
}

// A run is a Set that runs in a bubble.
type run struct {
	*scan.Set
	store memory.Store
	into  *memory.Set // that it fills
	log   logged
	opts  scan.Options
}

// newRun is called in a bubble. If keys are given, the set has been filled before.
func newRun(t *testing.T, keys ...string) *run {
	t.Helper()
	r := &run{opts: scan.Options{Every: time.Minute}}
	if keys != nil {
		set, err := r.store.Set(t.Context(), "files", nil)
		must(t, err)
		must(t, set.Put(t.Context(), files(keys...)...))
	}
	return r
}

// start joins the origin and the set, and runs it until the returned function is called.
func (r *run) start(t *testing.T, origin scan.Origin) (stop func()) {
	t.Helper()
	r.join(t, origin)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		must(t, <-ended)
	}
}

// join joins the origin and the set.
func (r *run) join(t *testing.T, origin scan.Origin) {
	t.Helper()
	var err error
	r.opts.Logger = slog.New(slog.NewTextHandler(&r.log, nil))
	r.Set, err = scan.Into(t.Context(), &r.store, "files", origin, &r.opts)
	must(t, err)
	r.into, err = r.store.Set(t.Context(), "files", &scan.SetOptions{MaxDelete: r.opts.MaxDelete, MaxDeleteHold: r.opts.MaxDeleteHold})
	must(t, err)
}

// inBubble runs a Set that origin fills while check looks on.
func inBubble(t *testing.T, f *folder, origin scan.Origin, check func(t *testing.T, r *run)) {
	synctest.Test(t, func(t *testing.T) {
		f.began = time.Now()
		r := newRun(t)
		defer r.start(t, origin)()
		check(t, r)
	})
}

// pass lets time pass.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// isReady reports whether readers see the set.
func (r *run) isReady(t *testing.T) bool {
	t.Helper()
	_, err := r.Stat(t.Context(), resourcesync.Range{})
	if err != nil && err != resourcesync.ErrNotReady || (err == nil) != r.Ready() {
		t.Errorf("Stat: %v, but Ready is %t", err, r.Ready())
	}
	return err == nil
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
