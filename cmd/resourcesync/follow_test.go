package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A follower is a running mirror --follow.
type follower struct {
	*exec.Cmd
	stdout *output
}

func startFollower(t testing.TB, source, dir string, flags ...string) *follower {
	t.Helper()
	return startMirror(t, source, dir, append([]string{"--follow"}, flags...)...)
}

// startMirror starts a mirror that keeps running.
func startMirror(t testing.TB, source, dir string, flags ...string) *follower {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	f := &follower{exec.CommandContext(t.Context(), program, append([]string{"mirror", source, dir}, flags...)...), newOutput(t)}
	f.Env = append(os.Environ(), beMain+"=1")
	f.Stdout, f.Stderr = f.stdout, f.stdout
	must(t, f.Start())
	return f
}

// interrupt ends a follower, which must exit with status 0.
func (f *follower) interrupt(t testing.TB) {
	t.Helper()
	must(t, f.Process.Signal(os.Interrupt))
	if err := f.Wait(); err != nil {
		t.Errorf("%v\n%s", err, f.stdout)
	}
}

// awaitFollowed waits until a copy equals the folder of the Source.
func awaitFollowed(t testing.TB, s *served, dir string) {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(dir); err == nil && maps.Equal(contents(t, dir), contents(t, s.folder)) {
			return
		}
	}
	t.Fatalf("the copy has %d files, the Source %d, or others", len(contents(t, dir)), len(contents(t, s.folder)))
}

// TestMirrorFollow follows a folder that serve publishes, by WebSocket.
func TestMirrorFollow(t *testing.T) {
	t.Parallel()
	s := startReady(t, t.TempDir(), "--websocket")
	s.write("a", "text")
	dir := filepath.Join(t.TempDir(), "copy")
	f := startFollower(t, s.site, dir, "--every", "1h")
	f.stdout.await("WebSocket")
	for i := range 5 {
		s.write("a", fmt.Sprint("changed ", i))
		s.write(fmt.Sprint("new/", i), "new")
	}
	must(t, os.Remove(filepath.Join(s.folder, "new", "3")))
	awaitFollowed(t, s, dir)
	f.interrupt(t)
}

// TestMirrorAuditBesideFollow audits a copy while another process follows the Source. That process
// repairs what the audit finds.
func TestMirrorAuditBesideFollow(t *testing.T) {
	t.Parallel()
	s := startReady(t, t.TempDir(), "--websocket")
	s.write("a", "text")
	s.write("b", "text")
	s.awaitChanges(2)
	dir := filepath.Join(t.TempDir(), "copy")
	f := startFollower(t, s.site, dir, "--every", "1h")
	f.stdout.await("WebSocket")
	awaitFollowed(t, s, dir)
	if status, stdout, stderr := runMirror(t, s.site, dir, "--audit"); status != 0 || !strings.Contains(stdout, "2 resources listed, 2 the same") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	write(t, filepath.Join(dir, "a"), "damaged")
	if status, stdout, stderr := runMirror(t, s.site, dir, "--audit"); status != 1 || !strings.Contains(stdout, "damaged in the copy") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	awaitFollowed(t, s, dir)
	if left, _ := os.ReadDir(filepath.Join(dir, ".resourcesync/audits")); len(left) > 0 {
		t.Errorf("%d files of requests", len(left))
	}
	f.interrupt(t)
}

// TestMirrorFollowKilled kills mirror --follow again and again while the Source changes and
// notifications are lost, repeated and delayed. In the end the copy equals the Source, and the
// hub has one subscription to each channel.
func TestMirrorFollowKilled(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	kills, _ := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_KILLS"), "3"))
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := t.TempDir()
	for i := range 100 {
		write(t, filepath.Join(folder, fmt.Sprintf("f%d.txt", i)), sealed(random, 2000))
	}
	s := startReady(t, folder, append([]string{"--max-delete", "100%"}, loopback...)...) // many kills take longer than creations offset deletions
	network := newLossy(t)
	dir := filepath.Join(t.TempDir(), "copy")
	flags := []string{"--every", "1h", "--callback-listen", network.to, "--callback-url", network.URL}
	change := func() {
		for range 10 {
			name := fmt.Sprintf("f%d.txt", random.IntN(150))
			if random.IntN(3) == 0 {
				os.Remove(filepath.Join(folder, name))
			} else {
				s.write(name, sealed(random, 2000))
			}
		}
	}
	for kill := range kills {
		f := startFollower(t, s.site, dir, flags...)
		for range 1 + random.IntN(20) {
			change()
			time.Sleep(50 * time.Millisecond)
		}
		f.Process.Kill()
		f.Wait()
		change()
		if _, err := os.Stat(dir); err != nil {
			continue // killed before it has begun
		}
		for name, text := range contents(t, dir) {
			if !isSealed(text) {
				t.Fatalf("after kill %d, %s is not whole: %d bytes", kill, name, len(text))
			}
		}
	}
	f := startFollower(t, s.site, dir, flags...)
	f.stdout.await("WebSub")
	change()
	network.reliable.Store(true)
	s.write("last", sealed(random, 100))
	awaitFollowed(t, s, dir)
	f.interrupt(t)
	if n := network.callbacks(); n != 2 {
		t.Errorf("the hub knows %d callbacks, want one for each channel", n)
	}
	t.Logf("of %d notifications, a quarter each was lost, repeated and delayed", network.posts.Load())
}

// lossy is a proxy for the callback. It loses, repeats and delays notifications, and tells the
// hub that all have arrived.
type lossy struct {
	*httptest.Server
	to       string // the address that it forwards to
	reliable atomic.Bool
	posts    atomic.Int64
	paths    sync.Map
}

func newLossy(t testing.TB) *lossy {
	l := &lossy{to: needs.Address(t)}
	l.Server = httptest.NewServer(l.between(httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.to})))
	t.Cleanup(l.Close)
	return l
}

func (l *lossy) callbacks() (n int) {
	l.paths.Range(func(any, any) bool { n++; return true })
	return n
}

func (l *lossy) between(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.paths.Store(r.URL.Path, true)
		if r.Method != http.MethodPost || l.reliable.Load() {
			next.ServeHTTP(w, r)
			return
		}
		l.posts.Add(1)
		body, _ := io.ReadAll(r.Body)
		forward := func() {
			res, err := http.DefaultClient.Do(l.repeat(r, body))
			if err == nil {
				res.Body.Close()
			}
		}
		switch rand.IntN(4) {
		case 0:
		case 1:
			forward()
			forward()
		case 2:
			time.AfterFunc(rand.N(time.Second), forward)
		default:
			forward()
		}
		w.WriteHeader(http.StatusAccepted)
	})
}

// repeat returns a copy of a request.
func (l *lossy) repeat(r *http.Request, body []byte) *http.Request {
	again, err := http.NewRequest(r.Method, "http://"+l.to+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	again.Header = r.Header.Clone()
	return again
}
