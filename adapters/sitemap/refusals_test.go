package sitemap_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A refusing website refuses all pages to strangers while it is closed.
type refusing struct {
	*harness
	closed atomic.Bool
}

const refusingPages = 40

func newRefusing(t *testing.T) *refusing {
	site := &website{pages: map[string]http.HandlerFunc{}}
	h := &refusing{harness: newHarnessOf(t, site, sitemap.Options{Sitemaps: []string{"/s.xml"}, Transport: inProcess{site}})}
	var all []string
	for i := range refusingPages {
		path := fmt.Sprintf("/%02d", i)
		all = append(all, path)
		h.serve(path, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("X-Forwarded-For") != "" && h.closed.Load() {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(w, path)
		})
	}
	h.serve("/s.xml", page(urlset(all...)))
	h.mustScan(t, all...)
	return h
}

// A process runs a Site with the set.
type process struct {
	site *sitemap.Site
	set  *scan.Set
	stop func()
}

func (h *refusing) start(t *testing.T, o sitemap.Options) *process {
	t.Helper()
	o.Sitemaps, o.Transport, o.Upstream = []string{"/s.xml"}, inProcess{h.website}, ""
	p := &process{}
	var err error
	if p.site, err = sitemap.New(base, &o); err != nil {
		t.Fatal(err)
	}
	p.set = h.into(t, p.site, &scan.Options{Every: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.set.Run(ctx) }()
	p.stop = func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	return p
}

// within waits until a condition is true.
func within(t *testing.T, d time.Duration, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(d); !done(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", d, what)
		}
	}
}

func (p *process) isHidden() bool {
	_, err := p.set.Stat(context.Background(), resourcesync.Range{})
	return errors.Is(p.set.Health(context.Background()), scan.ErrHidden) && errors.Is(err, resourcesync.ErrNotReady)
}

// confirm confirms the refusals as a process without a Site does.
func (h *refusing) confirm(t *testing.T) (hidden bool) {
	t.Helper()
	withheld, err := h.open(t.Context(), "withheld")
	if err == nil {
		hidden, err = sitemap.ConfirmRefusals(t.Context(), withheld)
	}
	if err != nil {
		t.Fatal(err)
	}
	return hidden
}

// published reports whether all pages have left the list, and all deletions are published.
func (h *refusing) published(t *testing.T) bool {
	return len(h.listed(t)) == 0 && h.deletions(t) == refusingPages
}

// TestConfirmRefusals has a website that begins to refuse all pages to strangers. The set is
// hidden until the refusals are confirmed, also by the next process. Then all deletions are
// published, and a few further ones are held again.
func TestConfirmRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		revisit float64 // pages per second
		confirm func(t *testing.T, h *refusing, p *process) *process
	}{
		"by another process": {1, func(t *testing.T, h *refusing, p *process) *process {
			within(t, time.Minute, "the state says that the set is hidden", func() bool { return h.confirm(t) })
			return p
		}},
		"by another process, without visits": {-1, func(t *testing.T, h *refusing, p *process) *process {
			within(t, time.Minute, "the state says that the set is hidden", func() bool { return h.confirm(t) })
			return p
		}},
		"by the Site, at once": {1, func(t *testing.T, h *refusing, p *process) *process {
			if hidden, err := p.site.ConfirmRefusals(t.Context()); !hidden || err != nil {
				t.Errorf("confirmed: %v, %v", hidden, err)
			}
			return p
		}},
		"after the end of the process": {1, func(t *testing.T, h *refusing, p *process) *process {
			p.stop()
			next := h.start(t, sitemap.Options{})
			if !next.isHidden() {
				t.Error("the next process shows the set")
			}
			next.stop()
			if !h.confirm(t) {
				t.Error("the state does not say that the set is hidden")
			}
			return h.start(t, sitemap.Options{})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRefusing(t)
				h.closed.Store(true)
				p := h.start(t, sitemap.Options{Revisit: tt.revisit})
				within(t, time.Minute, "the set is hidden", p.isHidden)
				if n := h.deletions(t); n > 0 {
					t.Errorf("%d deletions are published", n)
				}
				p = tt.confirm(t, h, p)
				within(t, 10*time.Minute, "all deletions are published", func() bool { return h.published(t) })
				if p.isHidden() {
					t.Error("the set is hidden")
				}
				within(t, 10*time.Minute, "the confirmation has ended", func() bool {
					withheld, err := h.open(t.Context(), "withheld")
					if err != nil {
						t.Fatal(err)
					}
					text, err := withheld.Origin(t.Context())
					return text == "{}" && err == nil
				})
				p.stop()
			})
		})
	}
}

// TestConfirmedBetweenProcesses: one process finds some of the refused pages after a confirmation,
// and another process finds the rest. The confirmation covers all deletions.
func TestConfirmedBetweenProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRefusing(t)
		h.closed.Store(true)
		first := h.start(t, sitemap.Options{Revisit: 1})
		within(t, time.Minute, "the state says that the set is hidden", func() bool { return h.confirm(t) })
		within(t, time.Minute, "half of the pages have left the lists", func() bool { return !first.isHidden() && len(h.listed(t)) <= refusingPages/2 })
		first.stop()
		second := h.start(t, sitemap.Options{Revisit: 1})
		within(t, 10*time.Minute, "all deletions are published", func() bool { return h.published(t) })
		second.stop()
	})
}

// TestHiddenByAnother has two processes. One discovers that the set must be hidden, and the other
// follows it, also when the website answers again.
func TestHiddenByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newRefusing(t)
		idle := h.start(t, sitemap.Options{Revisit: -1})
		time.Sleep(time.Minute) // it has requested its sample
		h.closed.Store(true)
		visiting := h.start(t, sitemap.Options{})
		within(t, 10*time.Second, "both hide the set", func() bool { return visiting.isHidden() && idle.isHidden() })
		h.closed.Store(false)
		within(t, 2*time.Minute, "both show the set", func() bool { return !visiting.isHidden() && !idle.isHidden() })
		if hidden := h.confirm(t); hidden {
			t.Error("the state says that the set is hidden")
		}
		if hidden, err := idle.site.ConfirmRefusals(t.Context()); hidden || err != nil {
			t.Errorf("confirmed: %v, %v", hidden, err)
		}
		visiting.stop()
		idle.stop()
		if n := len(h.listed(t)); n != refusingPages || h.deletions(t) > 0 {
			t.Errorf("%d pages are listed, %d deletions are published", n, h.deletions(t))
		}
	})
}

// TestMaxRefuse hides the set when more than a fraction of the pages is refused.
func TestMaxRefuse(t *testing.T) {
	for most, hidden := range map[float64]bool{math.Inf(-1): true, 0: true, 0.9: true, 1: false} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRefusing(t)
				h.closed.Store(true)
				p := h.start(t, sitemap.Options{MaxRefuse: most})
				time.Sleep(10 * time.Second)
				if p.isHidden() != hidden {
					t.Errorf("hidden: %v", p.set.Health(t.Context()))
				}
				p.stop()
			})
		})
	}
}
