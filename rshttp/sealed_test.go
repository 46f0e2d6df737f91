package rshttp_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// packagesOf returns the packages of a Change Dump by their paths, each with its
// entity tag.
func packagesOf(t *testing.T, src *rshttp.Source) map[string]string {
	t.Helper()
	tags := map[string]string{}
	for _, e := range changePackages(t, src) {
		res := get(t, src, pathOf(e))
		if res.StatusCode != 200 || e.Metadata.Until.IsZero() || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %s, %+v", e.Loc, res.Status, e.Metadata)
		}
		tags[pathOf(e)] = res.Header.Get("ETag")
	}
	return tags
}

// TestD5_QuietSite: the last changes are dumped within the period although no later
// change comes, listed packages do not change, and none is listed while nothing
// changes.
func TestD5_QuietSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &shelf{Set: memory.New(nil), t: t, content: map[string][]byte{}, past: map[resourcesync.Hash][]byte{}}
		src := newSource(t, nil, rshttp.Set{Provider: history{s}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go src.Run(ctx)
		before := packagesOf(t, src)
		if len(before) != 0 {
			t.Errorf("at first: %v", before)
		}
		n := 0
		for hour := range 24 {
			for range hour % 3 { // none in some hours
				n++
				s.put(fmt.Sprintf("%d.txt", n%5), fmt.Append(nil, "version ", n))
				time.Sleep(time.Minute)
			}
			time.Sleep(time.Hour + 2*time.Minute)
			now := packagesOf(t, src)
			for path, tag := range before {
				if now[path] != tag {
					t.Fatalf("hour %d: %s was listed with %s, now with %q", hour, path, tag, now[path])
				}
			}
			if hour%3 == 0 && len(now) != len(before) || hour%3 > 0 && len(now) == len(before) {
				t.Errorf("hour %d: %d packages, %d before", hour, len(now), len(before))
			}
			dumped := 0
			for path := range now {
				dumped += len(unpackChanges(t, src, path))
			}
			if dumped != n {
				t.Errorf("hour %d: %d of %d changes are dumped", hour, dumped, n)
			}
			before = now
		}
	})
}

// TestD5_HostWithoutSeals: if a journal keeps no seals, a package is listed when a
// later change has settled.
func TestD5_HostWithoutSeals(t *testing.T) {
	h := history{newShelf(t)}
	l := &hostLog{since: newYear}
	add := func(at time.Duration) {
		content := []byte(at.String())
		r := describe("a.txt", content)
		h.keep(r.Hashes[0], content)
		l.changes = append(l.changes, resourcesync.Change{Type: resourcesync.Updated, Datetime: newYear.Add(at), Resource: r})
		slices.SortFunc(l.changes, func(a, b resourcesync.Change) int { return a.Datetime.Compare(b.Datetime) })
	}
	src := newSource(t, nil, rshttp.Set{Provider: wrong{}, Changer: l, ChangeOpener: h})
	check := func(want ...int) {
		t.Helper()
		var got []int
		for _, e := range changePackages(t, src) {
			got = append(got, len(unpackChanges(t, src, pathOf(e))))
		}
		if !slices.Equal(got, want) {
			t.Errorf("packages of %v changes, want %v", got, want)
		}
	}
	check()
	add(10 * time.Minute)
	add(50 * time.Minute)
	check()
	add(60*time.Minute + 30*time.Second)
	check() // one that is older may still come
	add(60 * time.Minute)
	add(62 * time.Minute)
	check(3)
	add(5 * time.Hour)
	check(3, 2)
}

// TestD5_Replicas: processes that share a database have the same packages, whichever of
// them has closed one. So does a process that starts later.
func TestD5_Replicas(t *testing.T) {
	test := func(t *testing.T, open func() *sqlstore.Store) {
		past := map[resourcesync.Hash][]byte{}
		h := history{&shelf{t: t, past: past}}
		clock := newYear
		source := func(store *sqlstore.Store) (*rshttp.Source, *sqlstore.Set) {
			set, err := store.Set(t.Context(), "papers", nil)
			if err != nil {
				t.Fatal(err)
			}
			return newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 40}}, rshttp.Set{Provider: set, ChangeOpener: onlyOpener{h}}), set
		}
		a, set := source(open())
		b, _ := source(open())
		listed := map[string]string{}
		for i := range 30 {
			clock = clock.Add(time.Minute)
			content := fmt.Append(nil, "version ", i)
			r := describe(fmt.Sprint(i%3), content)
			h.keep(r.Hashes[0], content)
			if err := set.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			stat, err := set.Stat(t.Context(), resourcesync.Range{})
			if err != nil {
				t.Fatal(err)
			}
			if i%4 == 0 {
				// Both close it, and one comes too late for it.
				for _, newest := range []time.Time{stat.LastModified, stat.LastModified, stat.LastModified.Add(-time.Microsecond)} {
					if err := set.Seal(t.Context(), newest); err != nil {
						t.Fatal(err)
					}
				}
			}
			now := packagesOf(t, []*rshttp.Source{a, b}[i%2])
			if other := packagesOf(t, []*rshttp.Source{b, a}[i%2]); !maps.Equal(now, other) {
				t.Fatalf("change %d: %v at one, %v at the other", i, now, other)
			}
			for path, tag := range listed {
				if now[path] != tag {
					t.Fatalf("change %d: %s was listed with %s, now with %q", i, path, tag, now[path])
				}
			}
			listed = now
		}
		if len(listed) < 30/4 {
			t.Errorf("%d packages", len(listed))
		}
		c, _ := source(open())
		if now := packagesOf(t, c); !maps.Equal(now, listed) {
			t.Errorf("after a restart: %v, want %v", now, listed)
		}
	}
	opts := &sqlstore.Options{Logger: slog.New(slog.DiscardHandler)}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "state.db")
		test(t, func() *sqlstore.Store {
			store, err := sqlitestore.OpenFile(t.Context(), path, opts)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			return store
		})
	})
	t.Run("postgres", func(t *testing.T) {
		pool := postgresPool(t)
		test(t, func() *sqlstore.Store {
			store, err := pgstore.Open(t.Context(), pool, opts)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			return store
		})
	})
}

// onlyOpener hides the other methods of a history.
type onlyOpener struct{ resourcesync.ChangeOpener }
