package destination_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
)

// agents collects the User-Agents of requests, by path.
type agents struct {
	mu     sync.Mutex
	byPath map[string][]string
}

func (a *agents) add(r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byPath == nil {
		a.byPath = make(map[string][]string)
	}
	a.byPath[r.URL.Path] = append(a.byPath[r.URL.Path], r.UserAgent())
}

// check fails unless requests for the paths have been received, and all requests had the User-Agent.
func (a *agents) check(t *testing.T, host, want string, paths ...string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, path := range paths {
		if len(a.byPath[path]) == 0 {
			t.Errorf("%s did not receive a request for %s", host, path)
		}
	}
	for path, all := range a.byPath {
		if slices.ContainsFunc(all, func(agent string) bool { return agent != want }) {
			t.Errorf("%s received %q for %s, want %q", host, all, path, want)
		}
	}
}

// TestName: only the host of the Source receives the name of the copy. A host to which a list, a
// resource, robots.txt or a WebSocket is redirected does not.
func TestName(t *testing.T) {
	t.Parallel()
	var atSource, atOther agents
	src := newSource(t, pushOptions(t, false, true))
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		atOther.add(r)
		switch {
		case r.URL.Path == "/a":
			io.WriteString(w, "text")
		case strings.HasSuffix(r.URL.Path, "/resourcelist.xml"):
			r.Header.Set("X-Redirected", "yes")
			src.Config.Handler.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(other.Close)
	src.put(t, "a", "text")
	src.put(t, "b", "text")
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("X-Redirected") != "" {
			return false
		}
		atSource.add(r)
		if p := r.URL.Path; p == "/a" || p == "/robots.txt" || strings.HasSuffix(p, "/resourcelist.xml") || r.Header.Get("Upgrade") != "" {
			http.Redirect(w, r, other.URL+p, http.StatusFound)
			return true
		}
		return false
	})
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback, Name: "library-berlin"})
	m.follow(t, destination.FollowOptions{Every: time.Hour})
	src.awaitSame(t, m.dir)
	socket := "/resourcesync/change/websocket"
	m.awaitStatus(t, "failed to open the WebSocket", func(s *destination.Status) bool {
		return len(s.Channels) > 0 && s.Channels[0].Error != ""
	})
	atSource.check(t, "the Source", "resourcesync (name=library-berlin)", "/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml", "/a", "/b", "/robots.txt", socket)
	atOther.check(t, "the other host", "resourcesync", "/resourcesync/resourcelist.xml", "/a", "/robots.txt", socket)
}

func TestWrongName(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"two words", "a)", strings.Repeat("a", 65)} {
		folder, err := destination.OpenFolder(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { folder.Close() })
		d, err := destination.New("http://127.0.0.1/", folder, &destination.Options{Name: name})
		if err == nil || !strings.Contains(err.Error(), "Name is") {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
}
