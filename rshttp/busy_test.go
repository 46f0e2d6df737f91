package rshttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A busySet has resources of one size whose content changes all the time. As with
// files, only the latest version of each can be opened.
type busySet struct {
	*memory.Set
	size  int
	noise []byte

	mu       sync.Mutex
	versions []int // of each resource
}

func newBusySet(t *testing.T, n, size int) *busySet {
	s := &busySet{Set: memory.New(nil), size: size, noise: noise(1, 2*size+4096), versions: make([]int, n)}
	all := make([]resourcesync.Resource, n)
	for i := range all {
		all[i] = s.describe(i)
	}
	if err := s.Put(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *busySet) describe(i int) resourcesync.Resource {
	r := resource(fmt.Sprintf("%06d.bin", i))
	r.Length = resourcesync.Bytes(int64(s.size))
	r.Stamp = fmt.Sprint(s.versions[i])
	r.LastModified = newYear.Add(time.Duration(s.versions[i]) * time.Second)
	return r
}

// content returns the content that r lists.
func (s *busySet) content(r resourcesync.Resource) (now bool, content []byte) {
	var i, version int
	fmt.Sscanf(r.Key, "%06d.bin", &i)
	fmt.Sscan(r.Stamp, &version)
	from := (i*31 + version*7) % (s.size + 4096)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[i] == version, s.noise[from:][:s.size]
}

func (s *busySet) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	now, content := s.content(r)
	if !now {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

func (s *busySet) Checksum(_ context.Context, r resourcesync.Resource) (uint32, error) {
	_, content := s.content(r)
	return crc32.ChecksumIEEE(content), nil
}

// change replaces the content of a resource. It is listed a second later, as a file is
// when a scan finds it.
func (s *busySet) change(t *testing.T, i int) {
	s.mu.Lock()
	s.versions[i]++
	r := s.describe(i)
	s.mu.Unlock()
	time.Sleep(time.Second)
	if err := s.Put(t.Context(), r); err != nil {
		t.Error(err)
	}
}

// A link sends data at a limited speed.
type link struct {
	header http.Header
	status int
	body   *bytes.Buffer
	rate   int // bytes a second
}

func (l *link) Header() http.Header    { return l.header }
func (l *link) WriteHeader(status int) { l.status = status }
func (l *link) Write(p []byte) (int, error) {
	if l.status == 0 {
		l.status = http.StatusOK
	}
	time.Sleep(time.Duration(len(p)) * time.Second / time.Duration(l.rate))
	return l.body.Write(p)
}

// A resuming Destination fetches packages over a link, and resumes aborted transfers.
type resuming struct {
	h     http.Handler
	rate  int
	bytes int // transferred
}

// fetch fetches a package. It returns how often it had to start over.
func (d *resuming) fetch(t *testing.T, path string) (restarts int, content []byte, err error) {
	var etag string
	var body bytes.Buffer
	const most = 20
	for range most {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.org"+path, nil)
		if err != nil {
			return 0, nil, err
		}
		r.RemoteAddr = "192.0.2.1:1"
		if etag != "" {
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-", body.Len()))
			r.Header.Set("If-Range", etag)
		}
		var part bytes.Buffer
		l := &link{http.Header{}, 0, &part, d.rate}
		broken := d.serve(l, r)
		d.bytes += part.Len()
		switch l.status {
		case http.StatusOK:
			if etag != "" {
				restarts++
			}
			body.Reset()
			fallthrough
		case http.StatusPartialContent:
			etag = l.header.Get("ETag")
			body.Write(part.Bytes())
			if !broken {
				return restarts, body.Bytes(), nil
			}
			time.Sleep(time.Second)
		case http.StatusServiceUnavailable:
			time.Sleep(30 * time.Second)
		default:
			return restarts, nil, fmt.Errorf("status %d", l.status)
		}
	}
	return restarts, nil, errors.New("not complete after 20 requests")
}

// serve serves a response over the link, and reports whether the transfer was aborted.
func (d *resuming) serve(w http.ResponseWriter, r *http.Request) (broken bool) {
	defer func() {
		if cause := recover(); cause == http.ErrAbortHandler {
			broken = true
		} else if cause != nil {
			panic(cause)
		}
	}()
	d.h.ServeHTTP(w, r)
	return false
}

// TestD6_TransfersOnABusySet: a Destination that resumes obtains 50 packages of the
// default size, or 5 in everyday runs, at 10 MB a second while 1% of the resources changes every
// minute.
func TestD6_TransfersOnABusySet(t *testing.T) {
	needs.Time(t)
	if raceEnabled {
		t.Skip("takes long: half a gigabyte for each size")
	}
	for _, of := range []struct{ size, inEach int }{{4 << 10, 1024}, {20_000, 830}, {1_000_000, 16}} {
		t.Run(fmt.Sprintf("resources of %d bytes", of.size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				want := needs.Size(5, 50)
				n := want * of.inEach
				s := newBusySet(t, n, of.size)
				src := newSource(t, nil, rshttp.Set{Provider: s})
				ctx, cancel := context.WithCancel(t.Context())
				var background sync.WaitGroup
				defer background.Wait()
				defer cancel()
				changes := 0
				background.Go(func() {
					rnd := rand.New(rand.NewPCG(6, uint64(of.size)))
					for ; ; changes++ {
						select {
						case <-ctx.Done():
							return
						case <-time.After(time.Minute * 100 / time.Duration(n)):
							background.Go(func() { s.change(t, rnd.IntN(n)) })
						}
					}
				})
				list := packages(t, src)
				if len(list) < want {
					t.Fatalf("%d packages", len(list))
				}
				d := &resuming{h: src, rate: 10_000_000}
				started := time.Now()
				useful, restarts := 0, 0
				for _, e := range list[:want] {
					again, content, err := d.fetch(t, pathOf(e))
					if err != nil {
						t.Fatalf("%s: %v", e.Loc, err)
					}
					checkEntries(t, content, of.inEach/2)
					useful += len(content)
					restarts += again
				}
				t.Logf("%d packages of %d resources, %d MB: %d restarts, %.2f bytes transferred for each that is useful, %v, %d changes",
					want, of.inEach, useful/1_000_000, restarts, float64(d.bytes)/float64(useful), time.Since(started).Round(time.Second), changes)
				if d.bytes > 2*useful {
					t.Errorf("%d bytes were transferred for %d", d.bytes, useful)
				}
			})
		})
	}
}

// checkEntries checks the entries of a package by their checksums.
func checkEntries(t *testing.T, content []byte, least int) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	if len(z.File) < least {
		t.Errorf("%d entries", len(z.File))
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}
