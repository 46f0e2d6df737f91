package hub

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// TestD23_HangingCallbacks subscribes while other clients have requests under way
// to hosts that never answer.
func TestD23_HangingCallbacks(t *testing.T) {
	for name, test := range map[string]struct {
		clients, hosts, each int // that hang
		within               time.Duration
	}{
		"two clients, 32 callbacks each":  {2, 32, 1, 0},
		"two clients, as many as allowed": {2, 40, 5, 0},
		// All places are taken until callbacks have timed out.
		"twenty clients": {20, 10, 5, 10 * time.Second},
		// There are more requests than a process holds at a time.
		"ten clients, as many as allowed": {10, 40, 5, 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := pushlog.NewMemory()
				stop := bubble(t, store, func(r *http.Request) (*http.Response, error) {
					if strings.HasPrefix(r.URL.Host, "hang") {
						return hangs(r)
					}
					return confirms(r)
				})
				subscribe := func(client, host string, n int) {
					t.Helper()
					err := store.Request(t.Context(), pushlog.Request{
						Topic: testTopic, Callback: fmt.Sprintf("http://%s/%s/%d", host, client, n), Host: host, Client: client,
						Lease: time.Hour, Made: time.Now(),
					}, pushlog.Limits(DefaultLimits))
					if err != nil {
						t.Fatal(err)
					}
				}
				for n := range test.each {
					for host := range test.hosts {
						for client := range test.clients {
							subscribe(fmt.Sprint("client", client), fmt.Sprintf("hang%d-%d.example", client, host), n)
						}
					}
				}
				time.Sleep(2 * pollInterval)
				synctest.Wait()
				begun := time.Now()
				for n := range 3 {
					subscribe("third party", "www.example.net", n)
				}
				for count(t, store) < 3 {
					time.Sleep(10 * time.Millisecond)
					synctest.Wait()
					if time.Since(begun) > time.Hour {
						t.Fatal("never verified")
					}
				}
				if took := time.Since(begun); took > test.within+time.Second {
					t.Errorf("verified after %v", took)
				} else {
					t.Logf("verified after %v", took)
				}
				stop()
			})
		})
	}
}

// TestD23_OneClient: a client that is alone can use all places.
func TestD23_OneClient(t *testing.T) {
	v := &verifier{running: map[int64]heldRequest{}}
	for id := range int64(100) {
		v.waiting = append(v.waiting, heldRequest{Request: pushlog.Request{ID: id, Client: "one", Host: fmt.Sprint(id)}})
	}
	hosts, clients := map[string]int{}, map[string]int{}
	for {
		i := v.next(hosts, clients)
		if i < 0 {
			break
		}
		r := v.waiting[i]
		if r.ID != int64(len(v.running)) {
			t.Errorf("request %d runs as number %d", r.ID, len(v.running))
		}
		v.waiting = append(v.waiting[:i], v.waiting[i+1:]...)
		v.running[r.ID] = r
		clients[r.Client]++
	}
	if len(v.running) != verifyingPerClient {
		t.Errorf("%d run at the same time", len(v.running))
	}
}
