package scan_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/scan"
)

// twenty are the keys of twenty files.
func twenty() (keys []string) {
	for i := range 20 {
		keys = append(keys, fmt.Sprintf("%02d", i))
	}
	return keys
}

// holding runs a Set that holds the deletions of 15 of 20 files, with a day between scans.
func holding(t *testing.T, opts scan.Options, check func(t *testing.T, f *folder, r *run)) {
	synctest.Test(t, func(t *testing.T) {
		f := folder{began: time.Now()}
		f.set(nil, twenty()...)
		r := newRun(t)
		r.opts = opts
		r.opts.Every = 24 * time.Hour
		defer r.start(t, &f)()
		pass(time.Second)
		f.set(nil, twenty()[:5]...)
		r.Scan()
		synctest.Wait()
		f.want(t, "0s 1s")
		if err := r.Health(t.Context()); !errors.Is(err, scan.ErrHeld) || errors.Is(err, scan.ErrUnreadable) || r.into.Len() != 20 {
			t.Errorf("Health: %v, %d files", err, r.into.Len())
		}
		check(t, &f, r)
	})
}

// released checks that the deletions are published.
func (r *run) released(t *testing.T) {
	t.Helper()
	if err := r.Health(t.Context()); err != nil || r.into.Len() != 5 {
		t.Errorf("Health: %v, %d files\n%s", err, r.into.Len(), &r.log)
	}
	if lines := r.log.lines(); len(lines) != 3 || !strings.HasPrefix(lines[0], `"deletions are held: too many resources are missing" resources=15 of=20`) ||
		lines[1] != `"deletions are no longer held" deleted=15 came_back=0` || !strings.HasPrefix(lines[2], `"changes found"`) {
		t.Errorf("logged\n%s", &r.log)
	}
}

// TestConfirmed publishes held deletions at once.
func TestConfirmed(t *testing.T) {
	holding(t, scan.Options{Confirm: "resourcesync confirm-deletions"}, func(t *testing.T, f *folder, r *run) {
		if err := r.Health(t.Context()); !strings.Contains(err.Error(), `at once after "resourcesync confirm-deletions"`) {
			t.Errorf("Health: %v", err)
		}
		if kept, err := r.Kept(t.Context()); err != nil || kept.Held != 15 || kept.Until.Sub(kept.Since) != time.Hour {
			t.Errorf("%+v, %v", kept, err)
		}
		if n, err := r.ConfirmDeletions(t.Context()); n != 15 || err != nil {
			t.Errorf("confirmed %d, %v", n, err)
		}
		synctest.Wait()
		f.want(t, "0s 1s 1s")
		r.released(t)
		if n, err := r.ConfirmDeletions(t.Context()); n != 0 || err != nil {
			t.Errorf("confirmed %d, %v", n, err)
		}
		pass(time.Minute)
		f.want(t, "0s 1s 1s")
	})
}

// TestConfirmedElsewhere: another process confirms held deletions.
func TestConfirmedElsewhere(t *testing.T) {
	holding(t, scan.Options{}, func(t *testing.T, f *folder, r *run) {
		pass(time.Minute)
		f.want(t, "0s 1s")
		_, err := r.into.ConfirmDeletions(t.Context())
		must(t, err)
		if err := r.Health(t.Context()); !errors.Is(err, scan.ErrHeld) || !strings.Contains(err.Error(), "confirmed deletions") {
			t.Errorf("Health: %v", err)
		}
		pass(2 * time.Second)
		f.want(t, "0s 1s 1m2s")
		r.released(t)
	})
}

// TestHeldForLong publishes deletions that have been held for MaxDeleteHold.
func TestHeldForLong(t *testing.T) {
	holding(t, scan.Options{MaxDeleteHold: 10 * time.Minute}, func(t *testing.T, f *folder, r *run) {
		pass(10*time.Minute - time.Second)
		f.want(t, "0s 1s")
		pass(3 * time.Second)
		f.want(t, "0s 1s 10m2s")
		r.released(t)
	})
}

// TestHeldUntilConfirmed says that held deletions wait for a confirmation.
func TestHeldUntilConfirmed(t *testing.T) {
	holding(t, scan.Options{MaxDeleteHold: -1}, func(t *testing.T, f *folder, r *run) {
		pass(23 * time.Hour)
		f.want(t, "0s 1s")
		if err := r.Health(t.Context()); !strings.Contains(err.Error(), `deleted when they are confirmed, or at once after "scan.Set.ConfirmDeletions"`) {
			t.Errorf("Health: %v", err)
		}
		f.set(nil, twenty()...)
		r.Scan()
		synctest.Wait()
		if err := r.Health(t.Context()); err != nil || !strings.Contains(r.log.String(), "deleted=0 came_back=15") {
			t.Errorf("Health: %v\n%s", err, &r.log)
		}
	})
}

// TestMaxDelete: the stored set gets the limits of the options.
func TestMaxDelete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f folder
		f.set(nil, twenty()...)
		r := newRun(t)
		r.opts.MaxDelete = 1
		defer r.start(t, &f)()
		f.set(nil)
		pass(time.Minute)
		if err := r.Health(t.Context()); err != nil || r.into.Len() != 0 {
			t.Errorf("Health: %v, %d files", err, r.into.Len())
		}
	})
}

// TestUnreadable keeps what cannot be read.
func TestUnreadable(t *testing.T) {
	var f folder
	f.set(nil, twenty()...)
	inBubble(t, &f, &f, func(t *testing.T, r *run) {
		f.mu.Lock()
		f.files, f.unreadable = f.files[:18], []resourcesync.Range{{From: "/", To: "0"}, {From: "18"}}
		f.mu.Unlock()
		pass(time.Minute)
		since := timetext.Of(time.Now())
		pass(time.Minute)
		want := "2 resources stay listed as they were, at least since " + since + "; the log names each place and its error, such as no access to 18"
		if err := r.Health(t.Context()); !errors.Is(err, scan.ErrUnreadable) || !strings.Contains(err.Error(), want) || r.into.Len() != 20 {
			t.Errorf("Health: %v, %d files, expected %s", err, r.into.Len(), want)
		}
		f.mu.Lock()
		f.unreadable = nil
		f.mu.Unlock()
		pass(time.Minute)
		if err := r.Health(t.Context()); err != nil || r.into.Len() != 18 {
			t.Errorf("Health: %v, %d files", err, r.into.Len())
		}
		lines := r.log.lines()
		want = `"resources that cannot be read stay listed as they were" resources=`
		if len(lines) != 3 || lines[0] != want+"2" || lines[1] != want+"0" || !strings.Contains(lines[2], "deleted=2") {
			t.Errorf("logged\n%s", &r.log)
		}
	})
}

// TestKeptNumbers: errors have the numbers of pages.
func TestKeptNumbers(t *testing.T) {
	for _, kept := range []scan.Kept{{Held: 1842}, {Held: 1842, Confirmed: true}, {Unreadable: 1842}} {
		if text := kept.Err("Question?", "command").Error(); !strings.Contains(text, " 1,842 resources ") && !strings.HasSuffix(text, " 1,842 resources") {
			t.Error(text)
		}
	}
}

// A sick folder is in trouble between scans.
type sick struct {
	*folder
	err error
}

func (s sick) Health() error { return s.err }

func TestHealther(t *testing.T) {
	s := sick{&folder{}, errors.New("no events arrive")}
	inBubble(t, s.folder, s, func(t *testing.T, r *run) {
		if err := r.Health(t.Context()); !errors.Is(err, s.err) {
			t.Errorf("Health: %v", err)
		}
	})
}
