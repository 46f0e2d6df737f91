package destination_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// pushOptions returns the options of a Source with a hub, a WebSocket or both.
func pushOptions(t testing.TB, withHub, withSocket bool) *rshttp.Options {
	t.Helper()
	o := &rshttp.Options{Push: topic.Options{Flush: 20 * time.Millisecond}}
	if withHub {
		o.Hub = &hub.Options{AllowCallbacks: loopback, MinLease: time.Second, Retry: 100 * time.Millisecond}
	}
	if withSocket {
		server, err := websocket.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		o.WebSocket = server
	}
	return o
}

// newCallback serves a Callback, through a proxy if that is not nil.
func newCallback(t testing.TB, proxy func(next http.Handler) http.Handler) *destination.Callback {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	c, err := destination.NewCallback("http://" + server.Listener.Addr().String() + "/callback")
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = c
	if proxy != nil {
		server.Config.Handler = proxy(c)
	}
	server.Start()
	t.Cleanup(server.Close)
	return c
}

// follow follows until the returned function is called.
func (m *mirror) follow(t testing.TB, o destination.FollowOptions) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	begun := make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	report := o.Report
	o.Report = func(r *destination.Report, err error) {
		once()
		if report != nil {
			report(r, err)
		}
	}
	done := make(chan error, 1)
	go func() { done <- m.Follow(ctx, &o) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	<-begun
	return stop
}

// TestFollow follows a Source in each way. With a channel, changes arrive long before the next
// Sync.
func TestFollow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hub, socket, callback bool
		every                 time.Duration
	}{
		"WebSub":                    {hub: true, callback: true, every: time.Hour},
		"WebSub beside a WebSocket": {hub: true, socket: true, callback: true, every: time.Hour},
		"WebSocket":                 {socket: true, every: time.Hour},
		"WebSocket beside a hub":    {hub: true, socket: true, every: time.Hour},
		"polling":                   {hub: true, every: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := newSource(t, pushOptions(t, test.hub, test.socket))
			for i := range 10 {
				src.put(t, fmt.Sprint("f", i), fmt.Sprint("content ", i))
			}
			m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback})
			var received, verified atomic.Int64
			o := destination.FollowOptions{Every: test.every}
			if test.callback {
				o.Callback = newCallback(t, func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						next.ServeHTTP(w, r)
						if r.Method == http.MethodPost {
							received.Add(1)
						} else {
							verified.Add(1)
						}
					})
				})
			}
			stop := m.follow(t, o)
			src.awaitSame(t, m.dir)
			var took []time.Duration
			for i := range 10 {
				begun := time.Now()
				src.put(t, "f1", fmt.Sprint("changed ", i))
				src.awaitSame(t, m.dir)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			t.Logf("from the change to the copy: median %v, longest %v", took[len(took)/2], took[len(took)-1])
			src.remove("f3")
			src.put(t, "new/f", "new")
			src.awaitSame(t, m.dir)
			stop()
			if test.callback && (received.Load() == 0 || verified.Load() != 4) {
				t.Errorf("the hub has delivered %d notifications and verified %d times", received.Load(), verified.Load())
			}

			// After the end, nothing is followed, and the next process continues.
			src.put(t, "f1", "later")
			time.Sleep(100 * time.Millisecond)
			if files(t, m.dir)["f1"] == "later" {
				t.Error("followed after the end")
			}
			before := received.Load()
			m.follow(t, o)
			src.awaitSame(t, m.dir)
			for i := 0; i == 0 || test.callback && received.Load() == before; i++ {
				src.put(t, "f2", fmt.Sprint("later ", i))
				src.awaitSame(t, m.dir)
			}
		})
	}
}

// TestFollowRemoved has a user who removes the temporary files of a mirror that follows.
// Their folders are created again for the next large resources.
func TestFollowRemoved(t *testing.T) {
	t.Parallel()
	src := newSource(t, pushOptions(t, false, true))
	src.put(t, "f", "text")
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback})
	m.follow(t, destination.FollowOptions{Every: 100 * time.Millisecond})
	for i := range 3 {
		for _, name := range []string{"partial", "tmp"} {
			if err := os.RemoveAll(filepath.Join(m.dir, ".resourcesync", name)); err != nil {
				t.Fatal(err)
			}
		}
		src.put(t, "f", strings.Repeat(fmt.Sprint(i), 1<<20))
		src.awaitSame(t, m.dir)
	}
}

// TestFollowLoss changes a Source while notifications are lost, repeated, delayed and out of
// order, and processes are replaced.
func TestFollowLoss(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	changes, _ := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_FOLLOW_CHANGES"), "2000"))
	seed := rand.Uint64()
	t.Logf("%d changes, seed %d", changes, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	source := pushOptions(t, true, false)
	source.Push.FlushChanges, source.Division.PageSize = max(20, changes/1000), max(500, changes/20)
	src := newSource(t, source)
	var network lossy
	callback := newCallback(t, network.between)
	dir := t.TempDir()
	var m *mirror
	var stop func()
	restart := func() {
		if m != nil {
			stop()
			m.close()
		}
		m = openMirror(t, src.URL, dir, &destination.Options{Allow: loopback, Concurrency: 8})
		stop = m.follow(t, destination.FollowOptions{Every: time.Hour, Callback: callback})
	}
	restart()
	begun := time.Now()
	for i := range changes {
		name := fmt.Sprintf("%d/f%d", random.IntN(20), random.IntN(changes/4+1))
		if random.IntN(4) == 0 {
			src.remove(name)
		} else {
			src.put(t, name, fmt.Sprint("content ", i))
		}
		if i%100 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		if i%(changes/4+1) == changes/5 {
			restart()
		}
	}
	// The last notifications arrive, because after a loss only a Sync would find their changes.
	network.reliable.Store(true)
	src.put(t, "last", "content")
	src.awaitSame(t, dir)
	t.Logf("%v; %d notifications were lost, %d repeated, %d delayed, %d forwarded", time.Since(begun),
		network.lost.Load(), network.repeated.Load(), network.delayed.Load(), network.forwarded.Load())
	if changes >= 2000 && (network.lost.Load() == 0 || network.repeated.Load() == 0 || network.delayed.Load() == 0) {
		t.Error("the network was reliable")
	}
}

// lossy is a network that loses, repeats and delays notifications. The hub is told that all
// have arrived.
type lossy struct {
	reliable                           atomic.Bool
	lost, repeated, delayed, forwarded atomic.Int64
}

func (l *lossy) between(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || l.reliable.Load() {
			next.ServeHTTP(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		again := r.Clone(context.WithoutCancel(r.Context()))
		forward := func() {
			l.forwarded.Add(1)
			again.Body = io.NopCloser(strings.NewReader(string(body)))
			next.ServeHTTP(httptest.NewRecorder(), again)
		}
		switch rand.IntN(4) {
		case 0:
			l.lost.Add(1)
		case 1:
			l.repeated.Add(1)
			forward()
			forward()
		case 2:
			l.delayed.Add(1)
			time.AfterFunc(rand.N(300*time.Millisecond), forward)
		default:
			forward()
		}
		w.WriteHeader(http.StatusAccepted)
	})
}

// TestRenewal has a hub with short leases: the subscription is renewed before each ends.
func TestRenewal(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	o := pushOptions(t, true, false)
	o.Hub.MaxLease, o.Hub.DefaultLease = 2*time.Second, 2*time.Second
	src := newSource(t, o)
	var mu sync.Mutex
	var at []time.Time
	callback := newCallback(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if q := r.URL.Query(); q.Get("hub.mode") == "subscribe" && strings.HasSuffix(q.Get("hub.topic"), "/change/") {
				mu.Lock()
				at = append(at, time.Now())
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	})
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback})
	m.follow(t, destination.FollowOptions{Every: time.Hour, Callback: callback})
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(50 * time.Millisecond) {
		mu.Lock()
		n := len(at)
		mu.Unlock()
		if n >= 3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("verified %d times", n)
		}
	}
	src.put(t, "a", "text")
	src.awaitSame(t, m.dir)
}

// TestMaximumLease has a hub that refuses leases longer than its maximum: it is asked once more,
// without a lease.
func TestMaximumLease(t *testing.T) {
	t.Parallel()
	src := newSource(t, pushOptions(t, true, false))
	var refused, granted atomic.Int64
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(string(body))
		if form.Get("hub.mode") != "subscribe" {
			return false
		}
		if form.Has("hub.lease_seconds") {
			refused.Add(1)
			http.Error(w, "hub.lease_seconds exceeds the maximum of 86400", http.StatusBadRequest)
			return true
		}
		granted.Add(1)
		return false
	})
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback})
	m.follow(t, destination.FollowOptions{Every: time.Hour, Callback: newCallback(t, nil)})
	for deadline := time.Now().Add(needs.Patience); refused.Load() == 0 || granted.Load() < refused.Load(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests were refused, and %d repeated without a lease", refused.Load(), granted.Load())
		}
	}
	src.put(t, "a", "text")
	src.awaitSame(t, m.dir)
}

// TestInternalChannels: a hub and a WebSocket at internal addresses of other hosts are
// not requested.
func TestInternalChannels(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	other := serve(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	pages := func(channel string) map[string]string {
		return map[string]string{
			"/cl.xml": openURLSet + `<rs:md capability="capabilitylist"/><url><loc>BASE/rl.xml</loc><rs:md capability="resourcelist"/></url>` + channel + `</urlset>`,
			"/rl.xml": openURLSet + `<rs:md capability="resourcelist"/></urlset>`,
			"/change": "https://example.org/\nLINK\n",
		}
	}
	var lines safeBuffer
	for _, channel := range []string{
		`<url><loc>BASE/change</loc><rs:md capability="change-notification"/><rs:ln rel="hub" href="` + other.URL + `/hub"/></url>`,
		`<url><loc>` + other.URL + `/change</loc><rs:md capability="change-notification"/><rs:ln rel="hub" href="BASE/hub"/></url>`,
		`<url><loc>ws` + strings.TrimPrefix(other.URL, "http") + `/x</loc><rs:md capability="change-notification"/></url>`,
	} {
		_, url := newScript(t, pages(channel))
		folder, err := destination.OpenFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		d, err := destination.New(url+"/cl.xml", folder, &destination.Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		if err != nil {
			t.Fatal(err)
		}
		m := &mirror{Destination: d, folder: folder}
		stop := m.follow(t, destination.FollowOptions{Every: time.Hour, Callback: newCallback(t, nil)})
		lines.await(t, "failed|ended")
		stop()
		m.close()
		lines.reset()
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests to an internal address", n)
	}
}

// A safeBuffer is a log that tests can wait for.
type safeBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *safeBuffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}

func (b *safeBuffer) await(t *testing.T, pattern string) {
	t.Helper()
	p := regexp.MustCompile(pattern)
	for deadline := time.Now().Add(needs.Patience); !p.MatchString(b.String()); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q:\n%s", pattern, b)
		}
	}
}
