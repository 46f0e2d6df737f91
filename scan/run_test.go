package scan_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/scan"
)

func TestScansFromTimeToTime(t *testing.T) {
	var f folder
	f.set(nil, "a")
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		f.set(nil, "a", "b")
		pass(2 * time.Minute)
		f.want(t, "0s 1m0s 2m0s")
		if r.into.Len() != 2 || strings.Count(r.log.String(), "changes found") != 1 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
	})
}

func TestScansWhenWoken(t *testing.T) {
	var f folder
	w := &watched{folder: &f}
	inBubble(t, &f, w, func(t *testing.T, r *run) {
		pass(10 * time.Second)
		w.wake()
		synctest.Wait()
		f.want(t, "0s 10s")
		pass(59 * time.Second)
		f.want(t, "0s 10s")
		if r.log.String() != "" {
			t.Errorf("logged\n%s", &r.log)
		}
		r.Scan()
		synctest.Wait()
		f.want(t, "0s 10s 1m9s")
	})
}

// TestRests: however often a Set is woken, it rests.
func TestRests(t *testing.T) {
	f := folder{takes: 3 * time.Second}
	w := &watched{folder: &f}
	inBubble(t, &f, w, func(t *testing.T, _ *run) {
		for range 400 {
			w.wake()
			pass(100 * time.Millisecond)
		}
		f.want(t, "0s 15s 30s")
	})
}

// TestSlowScans: a scan that takes longer than the interval is repeated, too.
func TestSlowScans(t *testing.T) {
	f := folder{takes: 2 * time.Minute}
	inBubble(t, &f, &f, func(t *testing.T, _ *run) {
		pass(7 * time.Minute)
		f.want(t, "0s 3m0s 6m0s")
	})
}

func TestFailedScans(t *testing.T) {
	var f folder
	w := &watched{folder: &f}
	f.set(nil, "a", "b")
	inBubble(t, &f, w, func(t *testing.T, r *run) {
		failingFor := func(want time.Duration) {
			t.Helper()
			if last := r.Last(); last.Ended.Sub(last.FailingSince) != want {
				t.Errorf("failing since %v at %v, expected %v", last.FailingSince, last.Ended, want)
			}
		}
		f.set(errors.New("lost"), "c")
		w.wake()
		pass(4 * time.Second)
		w.wake() // no reason to try earlier
		pass(146 * time.Second)
		f.want(t, "0s 0s 5s 15s 35s 1m15s 2m15s")
		if r.into.Len() != 3 || strings.Count(r.log.String(), "error=lost") != 1 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
		if err := r.Health(t.Context()); err == nil || r.Last().Err == nil {
			t.Errorf("Health: %v, last: %+v", err, r.Last())
		}
		failingFor(2*time.Minute + 15*time.Second)
		f.set(nil, "c")
		pass(time.Minute)
		if err := r.Health(t.Context()); r.into.Len() != 1 || err != nil || !r.Last().FailingSince.IsZero() {
			t.Errorf("%d files, %v\n%s", r.into.Len(), err, &r.log)
		}
		f.set(errors.New("lost again"))
		pass(65 * time.Second) // the retries start over
		f.want(t, "0s 0s 5s 15s 35s 1m15s 2m15s 3m15s 4m15s 4m20s 4m30s")
		failingFor(15 * time.Second)
	})
}

// TestNoWatching: where the system reports no changes, this is logged once and scans go on.
func TestNoWatching(t *testing.T) {
	var f folder
	inBubble(t, &f, &watched{folder: &f, deaf: errors.ErrUnsupported}, func(t *testing.T, r *run) {
		pass(2 * time.Minute)
		f.want(t, "0s 1m0s 2m0s")
		if n := strings.Count(r.log.String(), "level=WARN"); n != 1 {
			t.Errorf("%d warnings:\n%s", n, &r.log)
		}
	})
}

// deafParted is a parted folder whose Watch panics.
type deafParted struct{ *parted }

func (deafParted) Watch(context.Context, func([]string)) error { panic("defect") }

// TestNoWatchingOfParts: if watching fails, the first scan does not wait for it.
func TestNoWatchingOfParts(t *testing.T) {
	var f folder
	inBubble(t, &f, deafParted{&parted{folder: &f}}, func(t *testing.T, r *run) {
		f.want(t, "0s")
		if log := r.log.String(); strings.Count(log, "level=WARN") != 1 || !strings.Contains(log, "panic: defect") {
			t.Errorf("logged\n%s", log)
		}
	})
}

// TestStampAlone: a file that was read anew and is the same has not changed.
func TestStampAlone(t *testing.T) {
	var f folder
	a := file("a")
	a.Stamp = "~1"
	f.files = []resourcesync.Resource{a}
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		a.Stamp = "1"
		f.mu.Lock()
		f.files = []resourcesync.Resource{a}
		f.mu.Unlock()
		pass(time.Minute)
		for c, err := range r.Changes(t.Context(), resourcesync.Interval{}) {
			t.Errorf("journalled: %v, %v", c, err)
		}
		if known, err := r.into.Known(t.Context(), []string{"a"}); err != nil || known[0].Stamp != "1" {
			t.Errorf("%+v, %v", known, err)
		}
	})
}

// TestTurns: while somebody else scans the set, a Set waits for its turn, and logs nothing.
func TestTurns(t *testing.T) {
	var f folder
	w := &watched{folder: &f}
	inBubble(t, &f, w, func(t *testing.T, r *run) {
		end := make(chan struct{})
		go r.into.Scan(t.Context(), func(func(resourcesync.Resource, error) bool) { <-end })
		synctest.Wait()
		f.set(nil, "a")
		w.wake()
		pass(5 * time.Second)
		f.want(t, "0s")
		if err := r.Health(t.Context()); r.log.String() != "" || err != nil {
			t.Errorf("logged while it waited, %v\n%s", err, &r.log)
		}
		if _, err := r.Update(t.Context()); !errors.Is(err, resourcesync.ErrScanning) {
			t.Errorf("Update: %v", err)
		}
		close(end)
		pass(time.Second)
		f.want(t, "0s 6s")
		if r.into.Len() != 1 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
	})
}

// TestD11_FailedScansAreLoggedOnce: the same failure is logged once, a new one again, and
// its end.
func TestD11_FailedScansAreLoggedOnce(t *testing.T) {
	var f folder
	f.set(errors.New("the website is down"))
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		pass(10 * time.Minute)
		f.set(errors.New("a sitemap cannot be read"))
		pass(10 * time.Minute)
		f.set(nil, "a")
		pass(10 * time.Minute)
		want := []string{
			`"scan failed; no deletions are recorded" error="the website is down" next_in=5s`,
			`"scan failed; no deletions are recorded" error="a sitemap cannot be read" next_in=1m0s`,
			`"scan succeeded"`,
		}
		if !slices.Equal(r.log.lines(), want) {
			t.Errorf("logged\n%s", &r.log)
		}
	})
}

func TestRunTwice(t *testing.T) {
	var f folder
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		if err := r.Run(t.Context()); err == nil {
			t.Error("a second Run did not fail")
		}
		pass(time.Minute)
		f.want(t, "0s 1m0s") // the first one goes on
	})
}

// TestRunAgain: a Set may run again after its end.
func TestRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := folder{began: time.Now()}
		r := newRun(t)
		r.start(t, &f)()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		must(t, r.Run(ctx))
		f.want(t, "0s 0s")
	})
}

// TestUpdate scans once, without Run.
func TestUpdate(t *testing.T) {
	var f folder
	f.set(errors.New("lost"), "a", "b")
	r := newRun(t)
	r.join(t, &f)
	if r.isReady(t) || r.Last() != nil {
		t.Errorf("ready before the first scan, last: %+v", r.Last())
	}
	if _, err := r.Update(t.Context()); err == nil || r.isReady(t) {
		t.Errorf("%v, ready: %t", err, r.isReady(t))
	}
	f.set(nil, "a", "b")
	if got, err := r.Update(t.Context()); err != nil || got != (resourcesync.ScanResult{Unchanged: 2}) || !r.isReady(t) {
		t.Errorf("%+v, %v, ready: %t", got, err, r.isReady(t))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Update(ctx); !errors.Is(err, context.Canceled) || r.Last().Err != nil {
		t.Errorf("%v, last: %+v", err, r.Last())
	}
}

func TestIntoChecksOptions(t *testing.T) {
	r := newRun(t)
	if _, err := scan.Into(t.Context(), &r.store, "files", &folder{}, &scan.Options{Every: -1}); err == nil {
		t.Error("a negative interval is accepted")
	}
}

// A worker is a folder with background work.
type worker struct {
	*folder
	fails chan error
}

func (w worker) Run(ctx context.Context) error {
	select {
	case err := <-w.fails:
		return err
	case <-ctx.Done():
		return nil
	}
}

// TestRunner: the background work of an origin runs with the Set, and its error ends it.
func TestRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f folder
		w := worker{&f, make(chan error)}
		r := newRun(t)
		r.start(t, w)()
		lost := errors.New("the queue is lost")
		go func() { w.fails <- lost }()
		if err := r.Run(t.Context()); err != lost {
			t.Errorf("Run: %v", err)
		}
	})
}

// A restartable set tells when it has lost changes. It is the only one of its store.
type restartable struct {
	scan.Stored
	restarted chan struct{}
}

func (r restartable) Restarted() <-chan struct{} { return r.restarted }

func (r restartable) Set(context.Context, string, *scan.SetOptions) (restartable, error) {
	return r, nil
}

// TestScansAfterRestart: a set that has lost changes has everything scanned at once.
func TestScansAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := folder{began: time.Now()}
		f.set(nil, "a")
		into := restartable{memory.New(nil), make(chan struct{})}
		set, err := scan.Into(t.Context(), into, "files", &f, nil)
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- set.Run(ctx) }()
		pass(10 * time.Second)
		into.restarted <- struct{}{}
		synctest.Wait()
		f.want(t, "0s 10s")
		cancel()
		must(t, <-ended)
	})
}
