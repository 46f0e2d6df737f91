package destination_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// awaitStatus waits until the status of a copy fulfils a condition.
func (m *mirror) awaitStatus(t testing.TB, what string, is func(*destination.Status) bool) destination.Status {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(10 * time.Millisecond) {
		s := m.Status()
		if is(&s) {
			return s
		}
		if time.Now().After(deadline) {
			text, _ := json.MarshalIndent(s, "", "  ")
			t.Fatalf("never %s: %s", what, text)
		}
	}
}

// TestStatusOfSyncs: a copy is in sync as of the last reading of the lists by a Sync without failures.
func TestStatusOfSyncs(t *testing.T) {
	t.Parallel()
	src := newSource(t, nil)
	src.put(t, "a", "text")
	src.put(t, "b", "text")
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback})
	if s := m.Status(); s.Source != src.URL+"/" || !s.InSync.IsZero() || s.Last != nil || !s.Next.IsZero() {
		t.Errorf("at the beginning: %+v", s)
	}
	before := time.Now()
	m.sync(t)
	s := m.Status()
	if s.InSync.Before(before) || s.InSync.After(s.Ended) || s.Behind != 0 || s.Failures != 0 || s.Error != "" || s.Resources != 2 || s.Bytes != 8 || s.Last.Created != 2 || s.Until.IsZero() || !s.Began.IsZero() {
		t.Errorf("after a Sync: %+v", s)
	}
	src.on(func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/c" {
			http.Error(w, "broken", http.StatusNotFound)
			return true
		}
		return false
	})
	src.put(t, "c", "text")
	until := s.Until
	m.Sync(t.Context())
	if next := m.Status(); next.Behind != 1 || next.Failures != 1 || !next.InSync.Equal(s.InSync) || !next.Until.After(until) || len(next.Last.Failures) != 1 {
		t.Errorf("after a failure: %+v", next)
	}
	src.on(func(w http.ResponseWriter, _ *http.Request) bool {
		http.Error(w, "down", http.StatusForbidden)
		return true
	})
	m.Sync(t.Context())
	if next := m.Status(); next.Error == "" || next.Failures != 2 || next.Behind != 1 || !next.InSync.Equal(s.InSync) {
		t.Errorf("while the Source is down: %+v", next)
	}
	src.on(nil)
	m.sync(t)
	if next := m.Status(); next.Error != "" || next.Failures != 0 || next.Behind != 0 || !next.InSync.After(s.InSync) {
		t.Errorf("after the repair: %+v", next)
	}
}

// TestStatusDuringSync: the status does not wait for a Sync, and shows its progress.
func TestStatusDuringSync(t *testing.T) {
	t.Parallel()
	src := newSource(t, nil)
	src.put(t, "a", "text")
	src.put(t, "b", "text")
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback, Concurrency: 1})
	arrived, release := make(chan struct{}, 9), make(chan struct{})
	src.on(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/b" {
			arrived <- struct{}{}
			<-release
		}
		return false
	})
	done := make(chan error)
	go func() {
		_, err := m.Sync(t.Context())
		done <- err
	}()
	<-arrived
	m.awaitStatus(t, "running", func(s *destination.Status) bool { return !s.Began.IsZero() && s.Last == nil })
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if s := m.Status(); !s.Began.IsZero() || s.Behind != 0 || s.InSync.IsZero() {
		t.Errorf("%+v", s)
	}
}

// TestStatusOfChannels: the status has the open channels, and says why others are not
// open.
func TestStatusOfChannels(t *testing.T) {
	t.Parallel()
	for by, hub := range map[string]bool{"WebSub": true, "WebSocket": false} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			src := newSource(t, pushOptions(t, hub, !hub))
			src.put(t, "a", "text")
			m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback})
			o := destination.FollowOptions{Every: time.Hour}
			if hub {
				o.Callback = newCallback(t, nil)
			}
			src.on(func(w http.ResponseWriter, r *http.Request) bool {
				refused := r.Header.Get("Upgrade") != "" || r.Method == http.MethodPost
				if refused {
					http.Error(w, "not now", http.StatusForbidden)
				}
				return refused
			})
			stop := m.follow(t, o)
			s := m.awaitStatus(t, "refused", func(s *destination.Status) bool {
				return len(s.Channels) == 2 && s.Channels[0].Error != "" && s.Channels[1].Error != ""
			})
			for _, c := range s.Channels {
				if c.Open || !c.Since.IsZero() || !strings.Contains(c.Error, "403") || !c.Next.After(s.Ended) {
					t.Errorf("refused: %+v", c)
				}
			}
			src.on(nil)
			open := func(s *destination.Status) bool {
				for _, c := range s.Channels {
					if !c.Open {
						return false
					}
				}
				return len(s.Channels) == 2
			}
			s = m.awaitStatus(t, "open", open)
			for _, c := range s.Channels {
				if c.By != by || c.Since.IsZero() || c.Error != "" || !strings.Contains(c.Address, src.Listener.Addr().String()) || hub != c.Expires.After(time.Now()) || hub != c.Next.After(time.Now()) {
					t.Errorf("%+v", c)
				}
			}
			if s.Next.Before(time.Now().Add(50 * time.Minute)) {
				t.Errorf("the next Sync is at %v", s.Next)
			}
			inSync := m.Status().InSync
			src.put(t, "b", "text")
			m.awaitStatus(t, "notified", func(s *destination.Status) bool {
				return s.Resources == 2 && s.Behind == 0 && s.InSync.Equal(inSync) && s.Channels[0].Received+s.Channels[1].Received > 0
			})
			stop()
			if s := m.Status(); len(s.Channels) != 0 || !s.Next.IsZero() {
				t.Errorf("after the end: %+v", s)
			}
		})
	}
}

// TestStatusBehindProxy: a proxy that does not pass on the headers of a WebSocket is named.
func TestStatusBehindProxy(t *testing.T) {
	t.Parallel()
	src := newSource(t, pushOptions(t, false, true))
	src.on(func(_ http.ResponseWriter, r *http.Request) bool {
		r.Header.Del("Upgrade")
		r.Header.Set("Connection", "close")
		return false
	})
	m := openMirror(t, src.URL, t.TempDir(), &destination.Options{Allow: loopback})
	m.follow(t, destination.FollowOptions{Every: time.Hour})
	m.awaitStatus(t, "not connected, because of a proxy", func(s *destination.Status) bool {
		return len(s.Channels) > 0 && strings.Contains(s.Channels[0].Error, "a proxy in front of it must pass on the headers Upgrade and Connection")
	})
}
