package scan_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A binder is a folder that changes its set between scans.
type binder struct {
	*folder
	set   scan.Stored
	notes scan.Stored
	err   error
}

func (b *binder) Bind(ctx context.Context, set scan.Stored, open func(context.Context, string) (scan.Stored, error)) (err error) {
	if b.set != nil {
		return errors.New("bound twice")
	}
	b.set = set
	if b.notes, err = open(ctx, "notes"); err != nil {
		return err
	}
	return b.err
}

// remove has a part of the set scanned, and finds nothing there.
func (b *binder) remove(ctx context.Context, keys ...string) (resourcesync.ScanResult, error) {
	var ranges []resourcesync.Range
	for _, key := range keys {
		ranges = append(ranges, resourcesync.Range{From: key, To: key + "\x00"})
	}
	return b.set.ScanRanges(ctx, ranges, func(func(resourcesync.Resource, error) bool) {})
}

// observed keeps the results of scans in a few words.
func observed(to *[]string) func(scan.Result) {
	return func(r scan.Result) {
		words := []string{"all"}
		if r.Part {
			words = []string{"part"}
		}
		for _, n := range []struct {
			name string
			n    int
		}{{"created", r.Created}, {"deleted", r.Deleted}, {"held", r.Held}, {"skipped", int(r.Skipped)}} {
			if n.n > 0 {
				words = append(words, n.name)
			}
		}
		if r.Err != nil {
			words = append(words, "failed")
		}
		*to = append(*to, strings.Join(words, " "))
	}
}

// TestBinder: partial scans by the origin itself are logged and observed. If one keeps
// something, everything is scanned.
func TestBinder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := folder{began: time.Now(), takes: time.Second}
		f.set(nil, twenty()...)
		b := &binder{folder: &f}
		r := newRun(t)
		var results []string
		r.opts.Observe = observed(&results)
		defer r.start(t, b)()
		if _, err := b.remove(t.Context(), "00"); err != resourcesync.ErrNotReady && !errors.Is(err, resourcesync.ErrScanning) {
			t.Errorf("a part before the first scan: %v", err)
		}
		pass(10 * time.Second)
		if result, err := b.remove(t.Context(), "00", "01"); err != nil || result.Deleted != 2 {
			t.Errorf("%+v, %v", result, err)
		}
		if last := r.Last(); last.Part || last.Created != 20 || last.Deleted != 2 {
			t.Errorf("last: %+v", last)
		}
		pass(10 * time.Second)
		f.want(t, "0s")
		if result, err := b.remove(t.Context(), twenty()[2:18]...); err != nil || result.Held != 16 {
			t.Errorf("%+v, %v", result, err)
		}
		synctest.Wait()
		f.want(t, "0s 20s")
		pass(time.Second)
		if got, want := strings.Join(results, ", "), "all created, part deleted, part held, all created"; got != want {
			t.Errorf("observed %s; want %s", got, want)
		}
	})
}

func TestBinderOpens(t *testing.T) {
	r := newRun(t)
	b := &binder{folder: &folder{}}
	r.join(t, b)
	notes, err := r.store.Set(t.Context(), "notes files", nil)
	must(t, err)
	if b.notes != scan.Stored(notes) {
		t.Error("the further set is not in the store")
	}
	must(t, b.notes.Put(t.Context(), file("a"))) // it awaits no scan
	if _, err := b.notes.Stat(t.Context(), resourcesync.Range{}); err != nil {
		t.Error(err)
	}
	refused := errors.New("no")
	if _, err := scan.Into(t.Context(), &r.store, "files", &binder{folder: &folder{}, err: refused}, nil); err != refused {
		t.Errorf("Into: %v", err)
	}
}

// A filler knows what has changed, and lists nothing.
type filler struct {
	*binder
	skip int64
}

func (f *filler) Fill(ctx context.Context) (result resourcesync.ScanResult, err error) {
	f.mu.Lock()
	files, err := f.files, f.folder.err
	f.mu.Unlock()
	if err != nil {
		return result, err
	}
	if result, err = f.set.Scan(ctx, func(yield func(resourcesync.Resource, error) bool) {
		for _, r := range files {
			if !yield(r, nil) {
				return
			}
		}
	}); err == nil {
		_, err = f.set.ScanRanges(ctx, []resourcesync.Range{{From: "zz"}}, func(func(resourcesync.Resource, error) bool) {})
	}
	return result, err
}

func (f *filler) Progress() scan.Progress { return scan.Progress{Skipped: f.skip} }

// TestFiller: Fill takes the place of scans, and what it does with the set is not a part.
func TestFiller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f folder
		f.set(nil, "a")
		r := newRun(t)
		var results []string
		r.opts.Observe = observed(&results)
		origin := &filler{&binder{folder: &f}, 3}
		defer r.start(t, origin)()
		f.set(errors.New("lost"))
		pass(time.Minute)
		f.want(t, "")
		if got, want := strings.Join(results, ", "), "all created skipped, all skipped failed"; got != want {
			t.Errorf("observed %s; want %s", got, want)
		}
	})
}
