package rshttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A stuck provider waits for ever. Unless it is deaf, it stops when its context ends.
type stuck struct {
	*shelf
	deaf bool
	end  chan struct{} // ends it after all
	at   string        // the method that waits
}

func (s stuck) wait(ctx context.Context, at string) error {
	if s.at != at {
		return nil
	}
	done := ctx.Done()
	if s.deaf {
		done = nil
	}
	select {
	case <-done:
		return ctx.Err()
	case <-s.end:
		return errors.New("the end")
	}
}

func (s stuck) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if err := s.wait(ctx, "Stat"); err != nil {
		return resourcesync.Stat{}, err
	}
	return s.shelf.Stat(ctx, r)
}

func (s stuck) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		if err := s.wait(ctx, "Resources"); err != nil {
			yield(resourcesync.Resource{}, err)
			return
		}
		s.shelf.Resources(ctx, r)(yield)
	}
}

func (s stuck) Windows(ctx context.Context, maximum int) ([]resourcesync.Interval, error) {
	if err := s.wait(ctx, "Windows"); err != nil {
		return nil, err
	}
	return s.shelf.Windows(ctx, maximum)
}

func (s stuck) Changes(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		if err := s.wait(ctx, "Changes"); err != nil {
			yield(resourcesync.Change{}, err)
			return
		}
		s.shelf.Changes(ctx, iv)(yield)
	}
}

// TestStuckProvider: a provider that never answers delays requests by a bounded time,
// and does not affect the documents of other sets. The exception is a package whose
// provider also ignores contexts, against its contract: nobody can say how long
// planning it takes.
func TestStuckProvider(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		for _, at := range []string{"Stat", "Resources", "Changes"} {
			if deaf && at == "Stat" {
				continue // the request itself calls it
			}
			t.Run(fmt.Sprintf("%s/deaf=%v", at, deaf), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := stuck{shelfOf(t, 3, 10), deaf, make(chan struct{}), at}
					defer close(s.end)
					src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{RenderTimeout: 7 * time.Second, Wait: time.Second, Renderings: 4}},
						rshttp.Set{Name: "stuck", Provider: s}, rshttp.Set{Name: "other", Provider: shelfOf(t, 3, 10)})
					stuckPaths := []string{"resourcelist.xml", "resourcelist/~.xml", "resourcedump.xml", "resourcedump/~.zip"}
					switch {
					case at == "Changes":
						stuckPaths = []string{"changelist.xml"}
					case deaf:
						stuckPaths = stuckPaths[:3]
					}
					for range 2 {
						for _, path := range stuckPaths {
							ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
							started := time.Now()
							status := 0
							done := make(chan struct{})
							go func() {
								defer close(done)
								r, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://x/resourcesync/stuck/"+path, nil)
								w := &statusWriter{header: http.Header{}}
								src.ServeHTTP(w, r)
								status = w.status
							}()
							<-done
							cancel()
							if took := time.Since(started); status != 503 || took > 20*time.Second {
								t.Errorf("%s: %d after %v", path, status, took)
							}
						}
					}
					for _, path := range []string{"resourcelist.xml", "resourcedump/~.zip"} {
						if res := get(t, src, "/resourcesync/other/"+path); res.StatusCode != 200 {
							t.Errorf("%s of another set: %s", path, res.Status)
						}
					}
				})
			})
		}
	}
}

type statusWriter struct {
	header http.Header
	status int
}

func (w *statusWriter) Header() http.Header         { return w.header }
func (w *statusWriter) WriteHeader(status int)      { w.status = status }
func (w *statusWriter) Write(b []byte) (int, error) { return len(b), nil }

// TestBrokenContracts: if a provider breaks its contract, requests for its lists and
// dumps fail. They never return wrong documents, regardless of how the set is divided.
func TestBrokenContracts(t *testing.T) {
	good := shelfOf(t, 10, 10)
	all := func(r resourcesync.Range) (list []resourcesync.Resource) {
		for res, err := range good.Resources(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, res)
		}
		return list
	}
	failure := errors.New("the disk is on fire")
	for name, bad := range map[string]func(r resourcesync.Range, yield func(resourcesync.Resource, error) bool){
		"out of order": func(r resourcesync.Range, yield func(resourcesync.Resource, error) bool) {
			for i, res := range all(r) {
				if i%2 == 1 {
					res.Key = "0" + res.Key[1:] + "x"
				}
				if i == 4 {
					res.Key = "000000"
				}
				if !yield(res, nil) {
					return
				}
			}
		},
		"twice": func(r resourcesync.Range, yield func(resourcesync.Resource, error) bool) {
			for _, res := range all(r) {
				for range 2 {
					if !yield(res, nil) {
						return
					}
				}
			}
		},
		"an error at the end": func(r resourcesync.Range, yield func(resourcesync.Resource, error) bool) {
			for _, res := range all(r) {
				if !yield(res, nil) {
					return
				}
			}
			yield(resourcesync.Resource{}, failure)
		},
		"panics at the end": func(r resourcesync.Range, yield func(resourcesync.Resource, error) bool) {
			for _, res := range all(r) {
				if !yield(res, nil) {
					return
				}
			}
			panic("the provider's defect")
		},
	} {
		for _, divided := range []bool{false, true} {
			for _, stated := range []bool{false, true} {
				src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 3, PackageSize: 40}}, broken(good, bad, divided, stated))
				for _, path := range []string{"resourcelist.xml", "resourcelist/~.xml", "resourcedump.xml", "resourcedump/~.xml", "resourcedump/~.zip"} {
					res := get(t, src, "/resourcesync/"+path)
					index := path == "resourcelist.xml" && divided // for which it was not listed
					if res.StatusCode != 503 && !index && !(path == "resourcedump/~.xml" || path == "resourcedump/~.zip") ||
						res.StatusCode == 200 && !index {
						t.Errorf("%s, divided %v, stated %v: %s is answered %s", name, divided, stated, path, res.Status)
					}
				}
			}
		}
	}
}

// A yielding is a provider that lists as its function does.
type yielding func(r resourcesync.Range, yield func(resourcesync.Resource, error) bool)

func (l yielding) Resources(_ context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) { l(r, yield) }
}

// broken is the set of a shelf that is listed by another function.
func broken(s *shelf, list yielding, cutter, stater bool) rshttp.Set {
	set := rshttp.Set{Provider: list, Opener: s}
	if cutter {
		set.Cutter = s
	}
	if stater {
		set.Stater = s
	}
	return set
}

// TestErrorAfterMany: an error after 49,999 resources leaves no list of 49,999.
func TestErrorAfterMany(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: rsxml.MaxEntries}}, rshttp.Set{Provider: yielding(func(_ resourcesync.Range, yield func(resourcesync.Resource, error) bool) {
		for i := range rsxml.MaxEntries - 1 {
			if !yield(resource(fmt.Sprintf("%06d", i)), nil) {
				return
			}
		}
		yield(resourcesync.Resource{}, errors.New("the disk is on fire"))
	})})
	for _, path := range []string{"resourcelist.xml", "resourcelist/~.xml"} {
		res := get(t, src, "/resourcesync/"+path)
		if body := text(t, res); res.StatusCode != 503 || strings.Contains(body, "<") {
			t.Errorf("%s: %s, %d bytes", path, res.Status, len(body))
		}
	}
}

// TestHeadFirst: HEAD of a package that has not been laid out has the same header as
// GET.
func TestHeadFirst(t *testing.T) {
	for _, p := range []resourcesync.Provider{shelfOf(t, 5, 1000), bare{shelfOf(t, 5, 1000)}} {
		src := newSource(t, nil, rshttp.Set{Provider: p})
		head := do(t, src, http.MethodHead, wholePath)
		whole := get(t, src, wholePath)
		body := text(t, whole)
		if head.StatusCode != 200 || head.Header.Get("Content-Length") != fmt.Sprint(len(body)) || head.Header.Get("ETag") != whole.Header.Get("ETag") {
			t.Errorf("%T: HEAD %s %v, GET %v", p, head.Status, head.Header, whole.Header)
		}
	}
}

// TestAbusedRanges: for any requested ranges, the response is no longer than the
// package and a part header for each of a few ranges, and no more than that is read.
func TestAbusedRanges(t *testing.T) {
	s := shelfOf(t, 3, 1000)
	src := newSource(t, nil, rshttp.Set{Provider: s})
	all := text(t, get(t, src, wholePath))
	size := len(all)
	const many = 16 * 300 // room for the heads of parts
	for ranges, want := range map[string]int{
		"bytes=0-0,2-2,4-4":                  206,
		"bytes=0-0,0-0,0-0,0-0":              206,
		"bytes=0-,0-":                        200, // more than all of it
		"bytes=0-,1-,2-,3-,4-,5-,6-,7-":      200,
		"bytes=-1,-1,-1":                     206,
		"bytes=0-99999999999999999":          206,
		"bytes=0-99999999999999999999999999": 416,
		"bytes=99999999999999999999-":        416,
		"bytes=-99999999999999999":           206,
		"bytes=-0":                           206, // of nothing, as net/http understands it
		"bytes=9-5":                          416,
		"bytes=-5-10":                        416,
		"bytes=a-b":                          416,
		"bytes=":                             200,
		"bytes=,,,":                          200,
		"lines=1-2":                          416,
		"bytes=" + strings.Repeat("0-0,", 15) + "1-1":   206,
		"bytes=" + strings.Repeat("0-0,", 5000) + "1-1": 200,
		"bytes=" + strings.Repeat(" , ", 5000) + "0-0":  200,
		"bytes=0-0\x00": 416,
	} {
		opened := s.opened.Load()
		res := get(t, src, wholePath, "Range", ranges)
		body := text(t, res)
		if res.StatusCode != want || len(body) > size+many || want == 200 && body != all {
			t.Errorf("%.60q: %s, %d bytes of %d", ranges, res.Status, len(body), size)
		}
		if n := s.opened.Load() - opened; n > 3*16 {
			t.Errorf("%.60q: content was opened %d times", ranges, n)
		}
		if s.open.Load() != 0 {
			t.Errorf("%.60q: %d contents are open", ranges, s.open.Load())
		}
	}
}

// TestSmallPackages: each resource is in a package, which exceeds a small PackageSize
// only if it holds a single resource with content.
func TestSmallPackages(t *testing.T) {
	for _, size := range []int64{1, 2, 99, 100, 101} {
		s := newShelf(t)
		for i := range 20 {
			s.put(fmt.Sprintf("%02d", i), noise(uint32(i), []int{0, 100, 1, 0, 5000}[i%5]))
		}
		src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: size}}, rshttp.Set{Provider: s})
		got := map[string]string{}
		for _, e := range packages(t, src) {
			contents := unpack(t, src, pathOf(e))
			bytes, with := 0, 0
			for uri, content := range contents {
				got[uri] = content
				if bytes += len(content); content != "" {
					with++
				}
			}
			if int64(bytes) > size && with > 1 {
				t.Errorf("of %d bytes: a package has %d bytes of %d resources", size, bytes, with)
			}
		}
		if len(got) != 20 {
			t.Errorf("of %d bytes: packages hold %d of 20 resources", size, len(got))
		}
	}
}

// TestPackageUnderWrites downloads one package again and again, whole and in two parts,
// while the set changes. Each download matches the manifest in it, for some state of
// the set.
func TestPackageUnderWrites(t *testing.T) {
	downloads := needs.Size(150, 400)
	for name, p := range map[string]func(*shelf) resourcesync.Provider{
		"every upgrade": func(s *shelf) resourcesync.Provider { return s },
		"bare":          func(s *shelf) resourcesync.Provider { return bare{s} },
	} {
		t.Run(name, func(t *testing.T) {
			s := shelfOf(t, 8, 3000)
			srv := httptest.NewServer(newSource(t, nil, rshttp.Set{Provider: p(s)}))
			defer srv.Close()
			fetch := func(header ...string) (res *http.Response, body string, err error) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+wholePath, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(header); i += 2 {
					r.Header.Set(header[i], header[i+1])
				}
				if res, err = srv.Client().Do(r); err != nil {
					return nil, "", err
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				return res, string(b), err
			}
			var (
				whole, resumed int
				writers        sync.WaitGroup
			)
			defer writers.Wait()
			for i := range downloads {
				// Changes come before, within and between requests.
				writers.Go(func() { s.put(fmt.Sprintf("%06d.txt", i%8), noise(uint32(1000+i), 3000)) })
				first, body, err := fetch()
				if err != nil || first.StatusCode != http.StatusOK {
					continue // broken off, or changing too fast
				}
				whole++
				checkPackage(t, body)
				if i%3 == 0 {
					rest, end, err := fetch("Range", "bytes=9000-", "If-Range", first.Header.Get("ETag"))
					switch {
					case err != nil:
					case rest.StatusCode == http.StatusPartialContent:
						resumed++
						checkPackage(t, body[:9000]+end)
					case rest.StatusCode == http.StatusOK:
						checkPackage(t, end)
					}
				}
			}
			t.Logf("%d packages came whole, %d were resumed", whole, resumed)
			if whole < downloads/10 {
				t.Errorf("%d of %d packages came whole", whole, downloads)
			}
		})
	}
}

// checkPackage checks a package against its manifest.
func checkPackage(t *testing.T, body string) {
	t.Helper()
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := fs.ReadFile(z, "manifest.xml")
	if err != nil {
		t.Fatal(err)
	}
	_, entries, err := rsxml.Decode(bytes.NewReader(manifest))
	if err != nil || len(entries) != len(z.File)-1 {
		t.Fatalf("%d entries for %d files, %v", len(entries), len(z.File), err)
	}
	for _, e := range entries {
		content, err := fs.ReadFile(z, strings.TrimPrefix(e.Metadata.Path, "/"))
		if want := describe("", content); err != nil || want.Hashes[0] != e.Metadata.Hashes[0] {
			t.Fatalf("%s is not what the manifest says: %v", e.Loc, err)
		}
	}
}
