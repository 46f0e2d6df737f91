package static

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
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
