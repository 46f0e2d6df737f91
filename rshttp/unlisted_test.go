package rshttp_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// unlistedRange returns the name of a range of keys that no document lists.
func unlistedRange(i int) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%06d-", i)) + "~"
}

// TestD19_AbandonedRequests: an adversary asks for 100 unlisted ranges a second, and
// hangs up after 10 ms, while listing a range takes as long as possible. No other
// request is refused, and work for requests that have ended stops.
func TestD19_AbandonedRequests(t *testing.T) {
	for _, path := range []string{"resourcelist/%s.xml", "resourcedump/%s.xml", "resourcedump/%s.zip"} {
		synctest.Test(t, func(t *testing.T) {
			s := stuck{shelfOf(t, 3, 10), false, make(chan struct{}), "Resources"}
			other := shelfOf(t, 3, 10)
			src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 4}},
				rshttp.Set{Name: "slow", Provider: s}, rshttp.Set{Name: "other", Provider: other})
			ask := func(path string, patience time.Duration) int {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				w := httptest.NewRecorder()
				src.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/resourcesync/"+path, nil))
				return w.Code
			}
			var attack sync.WaitGroup
			for i := range 1000 {
				attack.Go(func() { ask("slow/"+fmt.Sprintf(path, unlistedRange(i)), 10*time.Millisecond) })
				time.Sleep(10 * time.Millisecond)
				if i%20 == 0 {
					other.put("000001.txt", noise(uint32(i), 10)) // so that all is made anew
					for _, path := range []string{"other/resourcelist.xml", "other/resourcedump/~.zip", "other/resourcedump/~.xml"} {
						if status := ask(path, time.Minute); status != 200 {
							t.Fatalf("beside %d unlisted ranges: %s is answered %d", i+1, path, status)
						}
					}
				}
			}
			attack.Wait()
			time.Sleep(time.Second)
			close(s.end)
			synctest.Wait()
			if n := src.Counters().Planned; n != 50 {
				t.Errorf("%d packages were laid out, 50 of them for waiting clients", n)
			}
		})
	}
}

// unlistedWindow returns the name of a Change List that no index lists.
func unlistedWindow(i int) string {
	return time.Date(1999, 1, 1, 0, 0, i, 0, time.UTC).Format("20060102T150405.000000000Z")
}

// TestD19_UnlistedRefusedFirst: requests for unlisted ranges and windows are refused
// when their queue is full. Other requests are not.
func TestD19_UnlistedRefusedFirst(t *testing.T) {
	for _, tt := range []struct {
		at, path string
		name     func(int) string
	}{
		{"Resources", "resourcelist/%s.xml", unlistedRange},
		{"Windows", "changelist/%s.xml", unlistedWindow},
		{"Changes", "changedump/%s.xml", func(i int) string { return unlistedWindow(i) + "-" + unlistedWindow(i+1) }},
		{"Changes", "changedumps/%s.xml", unlistedWindow},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := stuck{shelfOf(t, 3, 10), false, make(chan struct{}), tt.at}
			other := shelfOf(t, 3, 10)
			src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 4, Wait: time.Minute}},
				rshttp.Set{Name: "slow", Provider: s, ChangeOpener: history{s.shelf}}, rshttp.Set{Name: "other", Provider: other, ChangeOpener: history{other}})
			var all sync.WaitGroup
			for i := range 300 {
				all.Go(func() { get(t, src, "/resourcesync/slow/"+fmt.Sprintf(tt.path, tt.name(i))) })
			}
			synctest.Wait()
			refused := src.Counters().Refused
			if refused < 250 || refused > 299 {
				t.Errorf("%s: %d of 300 are refused at once", tt.path, refused)
			}
			for _, path := range []string{"resourcelist.xml", "changelist.xml", "changedump.xml"} {
				if res := get(t, src, "/resourcesync/other/"+path); res.StatusCode != 200 {
					t.Errorf("%s beside %s: %s", path, tt.path, res.Status)
				}
			}
			close(s.end)
			all.Wait()
		})
	}
}

// TestD19_ListedWindows: a window or package that its index lists is not unlisted.
func TestD19_ListedWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stuck{shelfOf(t, 30, 10), false, make(chan struct{}), ""}
		time.Sleep(time.Until(newYear.AddDate(0, 0, 1))) // no package has an interval of the future
		src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 4, Wait: time.Minute}, Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: &s, ChangeOpener: history{s.shelf}})
		_, windows := decode(t, src, "/resourcesync/changelist.xml")
		packages := dumped(t, src, "/resourcesync/changedump.xml")
		if len(windows) < 3 || len(packages) < 2 {
			t.Fatalf("%d windows, %d packages", len(windows), len(packages))
		}
		s.at = "Windows"
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() { get(t, src, "/resourcesync/changelist/"+unlistedWindow(i)+".xml") })
		}
		synctest.Wait()
		s.at = ""
		for _, e := range append(windows, packages...) {
			if res := get(t, src, pathOf(e)); res.StatusCode != 200 {
				t.Errorf("%s: %s", e.Loc, res.Status)
			}
		}
		close(s.end)
		all.Wait()
	})
}

// TestD16_ListedBesideUnlisted: unlisted packages that nobody reads completely leave
// room for the packages of the dump, and are refused when their share is full.
func TestD16_ListedBesideUnlisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shelfOf(t, 100, 100)
		src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Wait: 2 * time.Second, Transfers: 64, ClientTransfers: 64}}, rshttp.Set{Provider: s})
		listed := pathOf(packages(t, src)[0])
		hold := make(chan struct{})
		var all sync.WaitGroup
		statuses := make([]int, 40)
		for i := range statuses {
			all.Go(func() {
				w := &heldWriter{httptest.NewRecorder(), hold}
				src.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/resourcesync/resourcedump/"+unlistedRange(i)+".zip", nil))
				statuses[i] = w.Code
			})
		}
		time.Sleep(5 * time.Second)
		if res := get(t, src, listed); res.StatusCode != 200 || !strings.HasPrefix(text(t, res), "PK") {
			t.Errorf("the package of the dump: %s", res.Status)
		}
		close(hold)
		all.Wait()
		served := 0
		for _, status := range statuses {
			switch status {
			case 200:
				served++
			case 503:
			default:
				t.Errorf("an unlisted package is answered %d", status)
			}
		}
		if served < 1 || served > 64/4 {
			t.Errorf("%d unlisted packages are sent at the same time", served)
		}
		if n := src.Counters().PlanBytes; n > 1<<20 {
			t.Errorf("afterwards %d bytes are held", n)
		}
	})
}

// A heldWriter does not take content for a while.
type heldWriter struct {
	*httptest.ResponseRecorder
	hold chan struct{}
}

func (w *heldWriter) Write(p []byte) (int, error) {
	<-w.hold
	return w.ResponseRecorder.Write(p)
}
