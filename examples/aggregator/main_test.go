package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// beMain in the environment makes the test binary the program itself.
const beMain = "AGGREGATOR_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beMain) != "" {
		main()
		return
	}
	log.SetOutput(io.Discard)
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A source is an aggregated Source. With a WebSocket, it pushes its changes.
type source struct {
	*httptest.Server
	set *memory.Set

	mu     sync.Mutex
	bodies map[string]string // by path
}

func newSource(t testing.TB, withSocket bool) *source {
	t.Helper()
	s := &source{set: memory.New(nil), bodies: make(map[string]string)}
	o := &rshttp.Options{Push: topic.Options{Flush: 50 * time.Millisecond}}
	if withSocket {
		server, err := websocket.New(nil)
		must(t, err)
		o.WebSocket = server
	}
	s.Server = httptest.NewUnstartedServer(nil)
	src, err := rshttp.New("http://"+s.Listener.Addr().String()+"/resourcesync/", []rshttp.Set{{Provider: s.set}}, o)
	must(t, err)
	s.Config.Handler = src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		body, ok := s.bodies[r.URL.Path]
		s.mu.Unlock()
		if !ok {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, body)
	}))
	s.Start()
	t.Cleanup(s.Close)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	go src.Run(ctx)
	t.Cleanup(stop)
	return s
}

func (s *source) put(t testing.TB, path, body string) {
	t.Helper()
	s.mu.Lock()
	s.bodies[path] = body
	s.mu.Unlock()
	must(t, s.set.Put(t.Context(), resourcesync.Resource{
		Key: path, URI: s.URL + path, Length: resourcesync.Bytes(int64(len(body))),
		Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(body)))}},
	}))
}

func (s *source) remove(path string) {
	s.mu.Lock()
	delete(s.bodies, path)
	s.mu.Unlock()
	s.set.Delete(context.Background(), path)
}

// start runs the aggregator until the returned function is called.
func start(t testing.TB, address, data string, sources []string) (site string, stop func()) {
	t.Helper()
	ln, err := net.Listen("tcp", address)
	must(t, err)
	site = "http://" + ln.Addr().String()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx, ln, site, data, 200*time.Millisecond, sources) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return site, stop
}

// TestAggregator aggregates three Sources, and mirrors the aggregator. While the Sources change
// and the aggregator is replaced, the mirror becomes identical to all of them.
func TestAggregator(t *testing.T) {
	sources, uris := newSources(t)
	data := filepath.Join(t.TempDir(), "data")
	site, stop := start(t, "127.0.0.1:0", data, uris)
	d, dir := newMirror(t, site)
	awaitSame(t, d, dir, sources)

	for i, s := range sources {
		s.put(t, "/papers/1.txt", fmt.Sprint("changed ", i))
		s.remove("/papers/2.txt")
		s.put(t, "/new", fmt.Sprint("new ", i))
	}
	awaitSame(t, d, dir, sources)
	stop()
	for i, s := range sources {
		s.put(t, "/papers/3.txt", fmt.Sprint("changed meanwhile ", i))
		s.remove("/papers/4.txt")
	}
	slices.Reverse(uris)
	start(t, strings.TrimPrefix(site, "http://"), data, uris)
	awaitSame(t, d, dir, sources)
	checkVia(t, site, sources)
}

// TestKilled kills the aggregator again and again while the Sources change. In the end, its
// copies and its lists agree, and equal those of the Sources.
func TestKilled(t *testing.T) {
	needs.Time(t)
	kills, _ := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_KILLS"), "3"))
	sources, uris := newSources(t)
	data := filepath.Join(t.TempDir(), "data")
	address := needs.Address(t)
	program, err := os.Executable()
	must(t, err)
	for kill := range kills {
		p := exec.CommandContext(t.Context(), program, append([]string{"-data", data, "-listen", address, "-every", "50ms"}, uris...)...)
		p.Env = append(os.Environ(), beMain+"=1")
		must(t, p.Start())
		for end := time.Now().Add(rand.N(time.Second)); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			s := sources[rand.IntN(len(sources))]
			path := fmt.Sprintf("/papers/%d.txt", rand.IntN(40))
			if rand.IntN(3) == 0 {
				s.remove(path)
			} else {
				s.put(t, path, fmt.Sprint(path, " of ", s.URL, " in round ", kill))
			}
		}
		p.Process.Kill()
		p.Wait()
	}
	site, _ := start(t, address, data, uris)
	d, dir := newMirror(t, site)
	awaitSame(t, d, dir, sources)
	checkVia(t, site, sources)
}

// newSources returns three Sources with their URLs. The first one has to be polled.
func newSources(t testing.TB) (sources []*source, uris []string) {
	t.Helper()
	for i := range 3 {
		s := newSource(t, i > 0)
		for j := range 20 {
			s.put(t, fmt.Sprintf("/papers/%d.txt", j), fmt.Sprintf("paper %d of Source %d", j, i))
		}
		sources, uris = append(sources, s), append(uris, s.URL+"/")
	}
	return sources, uris
}

// newMirror returns a mirror of the aggregator, and its folder.
func newMirror(t testing.TB, site string) (d *destination.Destination, dir string) {
	t.Helper()
	dir = t.TempDir()
	folder, err := destination.OpenFolder(dir)
	must(t, err)
	t.Cleanup(func() { folder.Close() })
	d, err = destination.New(site, folder, nil)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	return d, dir
}

// awaitSame mirrors the aggregator until the mirror has the resources of all Sources.
func awaitSame(t testing.TB, d *destination.Destination, dir string, sources []*source) {
	t.Helper()
	var want []string
	for _, s := range sources {
		for _, body := range s.bodies {
			want = append(want, body)
		}
	}
	slices.Sort(want)
	var got []string
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		d.Sync(t.Context()) // fails while the aggregator starts
		if got = bodies(t, dir); slices.Equal(got, want) {
			return
		}
	}
	missing := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return slices.Contains(got, s) })
	t.Fatalf("the mirror has %d files, want %d, and lacks %q", len(got), len(want), missing)
}

func bodies(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	must(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && e.Name() == ".resourcesync" {
			return filepath.SkipDir
		}
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		out = append(out, string(text))
		return err
	}))
	slices.Sort(out)
	return out
}

// checkVia checks that each resource of the aggregator has a link to its original.
func checkVia(t testing.TB, site string, sources []*source) {
	t.Helper()
	res, err := http.Get(site + "/resourcesync/resourcelist.xml")
	must(t, err)
	defer res.Body.Close()
	_, entries, err := rsxml.Decode(res.Body)
	must(t, err)
	originals := make(map[string]bool)
	for _, s := range sources {
		for path := range s.bodies {
			originals[s.URL+path] = true
		}
	}
	for _, e := range entries {
		if len(e.Links) != 1 || e.Links[0].Rel != resourcesync.RelVia || !originals[e.Links[0].Href] {
			t.Errorf("%s has the links %+v", e.Loc, e.Links)
		}
		delete(originals, e.Links[0].Href)
	}
	if len(originals) > 0 {
		t.Errorf("the aggregator lacks %v", originals)
	}
}
