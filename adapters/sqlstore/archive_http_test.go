package sqlstore

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// TestD9_ChangeListArchive follows a journal over HTTP. Its closed lists keep their
// URLs and their bytes when retention drops them, the archive lists them, and erased
// resources are gone from the next response.
func TestD9_ChangeListArchive(t *testing.T) {
	const day = 24 * time.Hour
	eachEngine(t, func(t *testing.T, db database) {
		clock := newClock()
		store := db.open(t, &Options{Now: clock.tell, Retain: 3 * day, Archive: 8 * day})
		set := store.mustSet(t, "set", nil)
		src, err := rshttp.New(documents, []rshttp.Set{{Provider: set}},
			&rshttp.Options{Division: rshttp.Division{PageSize: 4}, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		get := func(uri string, header ...string) (*http.Response, string) {
			t.Helper()
			r := httptest.NewRequest(http.MethodGet, uri, nil)
			for i := 0; i < len(header); i += 2 {
				r.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			src.ServeHTTP(w, r)
			return w.Result(), w.Body.String()
		}
		locs := func(name string) (found []string) {
			t.Helper()
			_, body := get(documents + name)
			h, entries, err := rsxml.Decode(strings.NewReader(body))
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, body)
			}
			for _, e := range entries {
				if h.Index && h.Metadata.Capability == resourcesync.ChangeListArchive {
					found = append(found, func() (of []string) {
						_, page := get(e.Loc)
						_, listed, err := rsxml.Decode(strings.NewReader(page))
						if err != nil {
							t.Fatalf("%s: %v", e.Loc, err)
						}
						for _, e := range listed {
							of = append(of, e.Loc)
						}
						return of
					}()...)
				} else {
					found = append(found, e.Loc)
				}
			}
			return found
		}
		bytes := map[string]string{} // of lists that were closed
		archivedOnce := map[string]bool{}
		for n := range 14 {
			for i := range 3 {
				if err := set.Put(t.Context(), small(fmt.Sprint(i), n)); err != nil {
					t.Fatal(err)
				}
			}
			clock.now = clock.now.Add(day)
			if err := store.clearAll(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				continue // all of it fits into one list
			}
			current := locs("changelist.xml")
			for _, uri := range current[:len(current)-1] {
				_, body := get(uri)
				if !strings.Contains(body, `<rs:ln rel="archives" href="`+documents+`changelistarchive.xml"/>`) {
					t.Fatalf("%s does not link the archive:\n%s", uri, body)
				}
				if before, ok := bytes[uri]; ok && before != body {
					t.Fatalf("%s was\n%s\nand is\n%s", uri, before, body)
				}
				bytes[uri] = body
			}
			kept := map[string]bool{}
			for _, uri := range locs("changelistarchive.xml") {
				res, body := get(uri)
				if res.StatusCode != http.StatusOK || bytes[uri] != body || res.Header.Get("Cache-Control") != "public, no-cache" {
					t.Fatalf("day %d: archived %s: %s %v\n%s\nit was\n%s", n, uri, res.Status, res.Header, body, bytes[uri])
				}
				kept[uri], archivedOnce[uri] = true, true
			}
			for _, uri := range current {
				if kept[uri] {
					t.Fatalf("%s is in the journal and in the archive", uri)
				}
			}
			for uri := range archivedOnce {
				if res, _ := get(uri); !kept[uri] && res.StatusCode != http.StatusGone {
					t.Fatalf("%s is no longer in the archive, but answers %s", uri, res.Status)
				}
			}
		}
		kept := locs("changelistarchive.xml")
		if len(kept) < 4 || len(kept) == len(archivedOnce) {
			t.Fatalf("%d lists are archived, %d have been", len(kept), len(archivedOnce))
		}
		_, capabilities := get(documents + "capabilitylist.xml")
		if !strings.Contains(capabilities, `<rs:md capability="changelist-archive"/>`) {
			t.Errorf("not advertised:\n%s", capabilities)
		}
		checkErased(t, set, kept[0], get)
	})
}

// checkErased erases a resource and checks an archived list that had it.
func checkErased(t *testing.T, set *Set, uri string, get func(uri string, header ...string) (*http.Response, string)) {
	t.Helper()
	gone := small("1", 0).URI
	res, body := get(uri)
	if !strings.Contains(body, "<loc>"+gone+"</loc>") {
		t.Fatalf("%s does not have %s:\n%s", uri, gone, body)
	}
	if _, err := set.Erase(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	modified := res.Header.Get("Last-Modified")
	res, body = get(uri, "If-None-Match", res.Header.Get("Etag"))
	if res.StatusCode != http.StatusOK || strings.Contains(body, gone) || !strings.Contains(body, "<loc>") {
		t.Errorf("after something was erased: %s\n%s", res.Status, body)
	}
	if res, _ := get(uri, "If-Modified-Since", modified); modified == "" || res.StatusCode != http.StatusOK {
		t.Errorf("If-Modified-Since %q: %s", modified, res.Status)
	}
	if res, _ := get(uri, "If-None-Match", res.Header.Get("Etag")); res.StatusCode != http.StatusNotModified {
		t.Errorf("asked again: %s", res.Status)
	}
}
