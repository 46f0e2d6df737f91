package scan_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// TestScansParts scans only what has changed, without a rest.
func TestScansParts(t *testing.T) {
	f := folder{takes: 3 * time.Second}
	p := &parted{folder: &f}
	f.set(nil, "a", "b")
	inBubble(t, &f, p, func(t *testing.T, r *run) {
		pass(4 * time.Second)
		f.want(t, "1ms")
		f.set(nil, "a", "c", "unnoticed")
		p.tell("b", "c")
		if r.into.Len() != 2 || strings.Count(r.log.String(), `"changes found" created=1 updated=0 deleted=1`) != 1 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
		f.set(nil, "a")
		p.tell("c")
		if r.into.Len() != 1 || len(f.parts) != 2 {
			t.Errorf("%d files, parts %q\n%s", r.into.Len(), f.parts, &r.log)
		}
		if last := r.Last(); last.Part || last.Created != 3 || last.Deleted != 2 {
			t.Errorf("the changes of the parts are not in %+v", last)
		}
		pass(50 * time.Second)
		f.want(t, "1ms")
		p.wake()
		pass(5 * time.Second)
		f.want(t, "1ms 54s")
	})
}

// TestPartsInDoubt: when a part cannot be scanned, or something is kept, all is scanned.
func TestPartsInDoubt(t *testing.T) {
	var f folder
	p := &parted{folder: &f}
	f.set(nil, "a", "b", "c", "d")
	inBubble(t, &f, p, func(t *testing.T, r *run) {
		pass(time.Second)
		f.set(errors.New("a part is lost"), "a")
		p.tell("b")
		f.set(nil, "a", "b", "c", "d")
		pass(5 * time.Second)
		f.want(t, "1ms 1s")
		f.set(nil, "a")
		p.tell("b", "c", "d") // too many to be deleted at once
		pass(time.Second)
		f.want(t, "1ms 1s 6s")
		p.tell("b") // while deletions are held
		pass(time.Second)
		f.want(t, "1ms 1s 6s 7s")
		if r.into.Len() != 4 || r.Last().Held != 3 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
		f.set(nil, "a", "b", "c", "d")
		p.tell("b", "c", "d")
		pass(time.Second)
		f.want(t, "1ms 1s 6s 7s 8s")
		p.tell("b")
		pass(time.Second)
		f.want(t, "1ms 1s 6s 7s 8s")
		if r.Last().Held != 0 {
			t.Errorf("still held\n%s", &r.log)
		}
	})
}

// TestPartsWait: a part waits while others scan the set, and until the set is complete.
func TestPartsWait(t *testing.T) {
	f := folder{takes: 10 * time.Second}
	p := &parted{folder: &f}
	f.set(nil, "a")
	inBubble(t, &f, p, func(t *testing.T, r *run) {
		pass(time.Second)
		go p.tell("b") // which the first scan may have passed
		pass(time.Second)
		f.set(nil, "a", "b")
		pass(10 * time.Second)
		if r.into.Len() != 2 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
		f.want(t, "1ms")
		end := make(chan struct{})
		go r.into.ScanRanges(t.Context(), []resourcesync.Range{{}}, func(yield func(resourcesync.Resource, error) bool) {
			<-end
			yield(resourcesync.Resource{}, errors.New("ended"))
		})
		synctest.Wait()
		f.set(nil, "b")
		go p.tell("a")
		pass(10 * time.Second)
		if r.into.Len() != 2 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
		close(end)
		pass(time.Second) // the longest wait
		if r.into.Len() != 1 {
			t.Errorf("%d files\n%s", r.into.Len(), &r.log)
		}
	})
}

// TestPartsWaitForFirstScan: no part is scanned before a complete scan has succeeded.
func TestPartsWaitForFirstScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := folder{began: time.Now()}
		p := &parted{folder: &f}
		f.set(errors.New("lost"))
		r := newRun(t)
		var results []string
		r.opts.Observe = observed(&results)
		defer r.start(t, p)()
		pass(time.Second)
		f.set(nil, "a")
		go p.tell("a")
		pass(10 * time.Second)
		f.want(t, "1ms 5.001s")
		if got, want := strings.Join(results, ", "), "all failed, all created, part"; got != want {
			t.Errorf("observed %s; want %s", got, want)
		}
	})
}
