package destination_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// hide removes capabilities from the Capability List.
func (s *source) hide(next func(w http.ResponseWriter, r *http.Request) bool, capabilities ...string) func(w http.ResponseWriter, r *http.Request) bool {
	entry := regexp.MustCompile(`(?s)<url>.*?</url>\s*`)
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/capabilitylist.xml") {
			return next != nil && next(w, r)
		}
		s.on(nil)
		all := httptest.NewRecorder()
		s.Config.Handler.ServeHTTP(all, withoutCoding(r))
		s.on(s.hide(next, capabilities...))
		text := entry.ReplaceAllStringFunc(all.Body.String(), func(e string) string {
			for _, c := range capabilities {
				if strings.Contains(e, `capability="`+c+`"`) {
					return ""
				}
			}
			return e
		})
		fmt.Fprint(w, text)
		return true
	}
}

// zips counts the requests for packages since the last call.
func (s *source) zips() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, count := range s.requests {
		if strings.HasSuffix(path, ".zip") {
			n += count
			delete(s.requests, path)
		}
	}
	return n
}

// TestDumps copies a Source by its dumps and follows it, with each combination of documents;
// -short leaves out those that lack some of the dumps or some of the lists.
func TestDumps(t *testing.T) {
	for i, test := range []struct {
		hidden string
		mode   destination.Dumps
	}{
		{hidden: ""},
		{hidden: "", mode: destination.DumpsAlways},
		{hidden: "resourcelist changelist"},
		{hidden: "resourcelist changelist", mode: destination.DumpsAlways},
		{hidden: "changelist"},
		{hidden: "resourcelist"},
		{hidden: "changedump"},
		{hidden: "resourcedump"},
		{hidden: "resourcelist changelist changedump"},
		{hidden: "resourcelist resourcedump"},
		{hidden: "resourcedump changelist"},
	} {
		t.Run("without "+test.hidden+" "+string(test.mode), func(t *testing.T) {
			t.Parallel()
			if i >= 4 {
				needs.Time(t)
			}
			src := newDumpSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 20, PackageSize: 20_000, Settle: -1}})
			src.on(src.hide(nil, strings.Fields(test.hidden)...))
			fill := func(from, to int, text string) {
				for i := from; i < to; i++ {
					src.put(t, fmt.Sprintf("a/%02d.txt", i), strings.Repeat(fmt.Sprint(text, i), 50))
				}
			}
			// The last package of a Change Dump is open and not listed.
			onlyClosed := strings.Contains(test.hidden, "changelist") && !strings.Contains(test.hidden, "changedump")
			finish := func(round string) {
				for i := 0; onlyClosed && i < 20; i++ {
					src.put(t, fmt.Sprintf("z/%s/%d", round, i), "")
				}
			}
			fill(0, 60, "content")
			src.put(t, "large", strings.Repeat("0123456789", 50_000))
			finish("baseline")
			m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Dumps: test.mode, MaxDelete: 1})
			r := m.sync(t)
			if r.Created < 61 || r.Failed+r.Unused+r.Deviations != 0 {
				t.Errorf("the baseline reports %+v", r)
			}
			src.same(t, m.dir, "z/")
			if single := src.requested("/a/"); !strings.Contains(test.hidden, "resourcedump") && (single > 0 || r.Packages < 2) {
				t.Errorf("%d requests for resources, %d packages", single, r.Packages)
			}

			fill(0, 45, "a version that is replaced")
			fill(0, 45, "changed")
			fill(60, 100, "new")
			for i := range 9 {
				src.remove(fmt.Sprintf("a/%02d.txt", 40+i))
			}
			finish("changes")
			r = m.sync(t)
			if r.Deleted != 9 || r.Failed+r.Unused+r.Deviations != 0 {
				t.Errorf("changes: %+v", r)
			}
			src.same(t, m.dir, "z/")
			if single := src.requested("/a/"); onlyClosed && single > 0 {
				t.Errorf("%d requests for changed resources", single)
			}
			if r = m.sync(t); r.Created+r.Updated+r.Deleted+r.Packages != 0 {
				t.Errorf("without changes: %+v", r)
			}
		})
	}
}

// TestDumpsNever requests each resource.
func TestDumpsNever(t *testing.T) {
	src := newDumpSource(t, nil)
	for i := range 50 {
		src.put(t, fmt.Sprint("f", i), fmt.Sprint("content ", i))
	}
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Dumps: destination.DumpsNever})
	if r := m.sync(t); r.Created != 50 || r.Packages != 0 || src.zips() != 0 {
		t.Errorf("%+v", r)
	}
	src.same(t, m.dir)
}

// TestDumpChanging has a Source that changes while its packages are received.
func TestDumpChanging(t *testing.T) {
	src := newDumpSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 100_000}})
	for i := range 500 {
		src.put(t, fmt.Sprintf("a/%03d", i), strings.Repeat(fmt.Sprint("content ", i), 100))
	}
	var n atomic.Int64
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, ".zip") {
			i := n.Add(1)
			src.put(t, fmt.Sprintf("a/%03d", 37*i%500), fmt.Sprint("changed ", i))
			src.remove(fmt.Sprintf("a/%03d", 41*i%500))
		}
		return false
	})
	m := openMirror(t, src.URL, t.TempDir(), nil)
	r := m.sync(t)
	src.on(nil)
	if n.Load() < 2 || r.Packages == 0 {
		t.Fatalf("%d requests for packages, %+v", n.Load(), r)
	}
	if r = m.sync(t); r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	src.same(t, m.dir)
}

// TestDumpUnavailable has packages that the Source cannot send now.
func TestDumpUnavailable(t *testing.T) {
	src := newDumpSource(t, nil)
	for i := range 50 {
		src.put(t, fmt.Sprint("f", i), fmt.Sprint("content ", i))
	}
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, ".zip") {
			return false
		}
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	m := openMirror(t, src.URL, t.TempDir(), nil)
	if r := m.sync(t); r.Created != 50 || r.Failed+r.Packages != 0 || r.Unused != 1 || src.zips() != 1 {
		t.Errorf("%+v", r)
	}
	src.same(t, m.dir)
}

// TestDumpInterrupted ends a Sync in the middle of packages, again and again. What has been
// received is not requested again.
func TestDumpInterrupted(t *testing.T) {
	t.Parallel()
	src := newDumpSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 2_000_000}})
	for i := range 100 {
		src.put(t, fmt.Sprintf("a/%03d", i), strings.Repeat(fmt.Sprintf("%07d\n", i), 10_000))
	}
	var requests, sent atomic.Int64
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, ".zip") && requests.Add(1) < 20 {
			src.on(nil)
			defer panic(http.ErrAbortHandler)
			src.Config.Handler.ServeHTTP(&truncated{ResponseWriter: &counting{w, &sent}, left: 900_000}, r)
			return true
		}
		return false
	})
	again := src.intercept
	dir := t.TempDir()
	var r *destination.Report
	for range 40 {
		src.on(again)
		m := openMirror(t, src.URL, dir, nil)
		r, _ = m.Sync(t.Context())
		m.close()
		if r.Resources == 100 && r.Failed == 0 {
			break
		}
	}
	src.same(t, dir)
	if total := sent.Load(); total > 16_000_000 {
		t.Errorf("%d bytes of packages were sent for 8 MB", total)
	}
}

// counting counts the bytes of responses.
type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w *counting) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n.Add(int64(n))
	return n, err
}
