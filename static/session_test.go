package static

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
)

// A held Store calls hold before each write of a file.
type held struct {
	*watched
	hold func(ctx context.Context, name string) error
}

func (h *held) Write(ctx context.Context, name string, c Content, was Stamp) (Stamp, error) {
	if err := h.hold(ctx, name); err != nil {
		return Stamp{}, err
	}
	return h.watched.Write(ctx, name, c, was)
}

// A heldOpener calls hold before each content.
type heldOpener struct{ hold func() }

func (h heldOpener) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	h.hold()
	return contents{}.Open(ctx, r)
}

// TestPublicationMeanwhile: a change is in the Change List before a page, a package, a content, or the list of
// recent changes ends that was begun before the change.
func TestPublicationMeanwhile(t *testing.T) {
	for name, part := range map[string]string{
		"page": "/resourcelist/", "index": "/resourcelist.xml", "manifest": "/resourcedump/", "package": ".zip", "content": "a content", "recent changes": "/recent.xml",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newMemorySite(t)
				s.put(1, 55, "first")
				out := &held{watched: s.openWatched()}
				var holding atomic.Bool
				hold := func(name string) {
					if !strings.Contains(name, part) || !holding.CompareAndSwap(true, false) {
						return
					}
					out.take()
					s.put(54, 54, "meanwhile")
					for range 100 {
						time.Sleep(100 * time.Millisecond)
						if slices.Contains(out.take(), "rs/papers/changelist.xml") { // the change begins a list
							s.checkChanges("text/meanwhile")
							return
						}
					}
					t.Error("the change waits")
				}
				out.hold = func(_ context.Context, name string) error {
					hold(name)
					return nil
				}
				set := Set{Name: "papers", Provider: s.set, Opener: heldOpener{func() { hold("a content") }}}
				src, err := New(origin+"/rs/", []Set{set}, &s.options)
				must(t, err)
				p, _ := start(t, out, src, PublicationOptions{Options: Options{DumpEvery: -1}, ListEvery: time.Hour})
				await(t, p)
				holding.Store(true)
				s.put(1, 55, "second")
				time.Sleep(2 * time.Hour)
				if holding.Load() {
					t.Errorf("nothing with %q was begun", part)
				}
			})
		})
	}
}

// TestPublicationOrder: a session that begins puts the Change List before it reads a Resource List that is due.
// The list of recent changes follows the Change List, unless the index has none to link to.
func TestPublicationOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 55, "first")
		out := s.openWatched()
		place := func(written []string, part string) int {
			return slices.IndexFunc(written, func(name string) bool { return strings.Contains(name, part) })
		}
		p, stop := start(t, out, s.source(), PublicationOptions{})
		await(t, p)
		if all := out.take(); place(all, "/recent.xml") < 0 || place(all, "/recent.xml") > place(all, "/changelist.xml") {
			t.Errorf("the index leads nowhere: %q", all)
		}
		s.put(1, 1, "second")
		time.Sleep(2 * recentEvery)
		if all := out.take(); place(all, "/recent.xml") < place(all, "/changelist.xml") {
			t.Errorf("the Change List waits: %q", all)
		}
		stop()
		time.Sleep(2 * time.Hour)
		s.put(1, 55, "third")
		p, _ = start(t, out, s.source(), PublicationOptions{})
		await(t, p)
		if all := out.take(); place(all, "/resourcelist/") < place(all, "/changelist.xml") {
			t.Errorf("the Change List waits: %q", all)
		}
	})
}

// TestPublicationBeginsAgain: if the walk of a set begins again, nothing is removed that is listed by another set's
// Change List, which was put meanwhile.
func TestPublicationBeginsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMemorySite(t)
		s.put(1, 55, "first")
		other := memory.New(&memory.Options{Window: time.Millisecond})
		put := func(text string) {
			for i := range 15 { // more than a Change List has
				must(t, other.Put(t.Context(), resourcesync.Resource{Key: fmt.Sprint("map-", i), URI: fmt.Sprint(origin, "/papers/map-", i), Type: text}))
			}
		}
		put("text/first")
		out := &held{watched: s.openWatched()}
		var moving atomic.Bool
		out.hold = func(_ context.Context, name string) error {
			if strings.Contains(name, "papers/resourcedump/") && moving.CompareAndSwap(true, false) {
				for _, text := range []string{"text/second", "text/third"} {
					put(text)
					time.Sleep(time.Second) // until it is in a Change List
				}
				s.put(1, 55, "second")
				time.Sleep(time.Second) // until their datetimes have passed
			}
			return nil
		}
		sets := []Set{{Name: "maps", Provider: other}, {Name: "papers", Provider: s.set, Opener: contents{}}}
		src, err := New(origin+"/rs/", sets, &s.options)
		must(t, err)
		p, stop := start(t, out, src, PublicationOptions{Options: Options{Grace: -1, DumpEvery: -1}, ListEvery: time.Hour})
		await(t, p)
		s.put(1, 55, "new")
		moving.Store(true)
		time.Sleep(90 * time.Minute) // one session
		await(t, p)
		stop()
		if moving.Load() {
			t.Error("no dump was written")
		}
		s.check(70, 0)
	})
}

// TestPublicationLostLock: if an update of the Change List finds that the lock has been lost, a page that is being
// written ends before the session does.
func TestPublicationLostLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		papers := memory.New(nil)
		put := func(n int) {
			for i := range 55 {
				r := resourcesync.Resource{Key: fmt.Sprintf("%04d", i), URI: fmt.Sprint(origin, "/papers/", i), Length: resourcesync.Bytes(int64(n))}
				must(t, papers.Put(t.Context(), r))
			}
		}
		put(1)
		var lost, writing atomic.Bool
		out := &remote{files: make(map[string][]byte), wrote: func(string) {}}
		out.takes = func(name string) time.Duration {
			if lost.Load() && strings.Contains(name, "/resourcelist/") {
				writing.Store(true)
				put(3)
				return time.Hour
			}
			return time.Millisecond
		}
		src, err := New(origin+"/rs/", []Set{{Name: "papers", Provider: papers}}, &SourceOptions{Division: Division{PageSize: 10}})
		must(t, err)
		store := &robbed{out, func(name string) error {
			if writing.Load() && strings.Contains(name, "/changelist") && lost.CompareAndSwap(true, false) {
				return ErrLockLost
			}
			return nil
		}}
		p := NewPublication(store, src, &PublicationOptions{Options: Options{Logger: slog.New(slog.DiscardHandler)}, ListEvery: time.Minute})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.Run(ctx) }()
		must(t, p.Await(t.Context()))
		put(2)
		lost.Store(true)
		time.Sleep(10 * time.Minute)
		if !writing.Load() || lost.Load() || time.Since(p.Status().Last) > 2*time.Minute || out.isLate() || p.Health(t.Context()) != nil {
			t.Errorf("writing: %t, lost: %t, status %+v", writing.Load(), lost.Load(), p.Status())
		}
		cancel()
		must(t, <-done)
	})
}

// A robbed Store fails writes with the errors of refuse.
type robbed struct {
	*remote
	refuse func(name string) error
}

func (r *robbed) Write(ctx context.Context, name string, c Content, was Stamp) (Stamp, error) {
	if err := r.refuse(name); err != nil {
		return Stamp{}, err
	}
	return r.remote.Write(ctx, name, c, was)
}
