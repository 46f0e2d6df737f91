package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/internal/subscriber"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

const (
	pushToken   = "a secret of the Source and the hub"
	changeTopic = documents + "change/"
)

// pushChild publishes the changes of a storm of writers, until it is killed.
func pushChild(ctx context.Context, db database, store *Store, set *Set, hub string) error {
	sealed, err := store.Log(ctx, documents)
	if err != nil {
		return err
	}
	log := pushlog.Unseal(sealed)
	source, err := rshttp.New(documents, []rshttp.Set{{
		Provider:   set,
		RemoteHubs: []topic.RemoteHub{{URI: hub, Token: pushToken}},
	}}, &rshttp.Options{
		Store:  store,
		Push:   topic.Options{Flush: 20 * time.Millisecond, FlushChanges: 100, Timeout: 2 * time.Second, Retry: 20 * time.Millisecond},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	go source.Run(ctx)
	// A channel publishes the changes after its start.
	for {
		if state, err := log.State(ctx, changeTopic); err != nil {
			return err
		} else if !state.Until.IsZero() {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("publishing")
	host, err := connectWriter(db)
	if err != nil {
		return err
	}
	failed := make(chan error)
	for range 4 {
		go func() {
			failed <- func() error {
				for {
					if n, err := host.changes(ctx); err != nil || n >= pushedChanges() {
						return err
					}
					if err := host.storm(ctx, set, rand.New(rand.NewPCG(rand.Uint64(), 1)), 100); err != nil {
						return err
					}
				}
			}()
		}()
	}
	for range 4 {
		if err := <-failed; err != nil {
			return err
		}
	}
	select {} // what is written is still to be pushed
}

// pushedChanges is the minimum number of changes: half of RESOURCESYNC_TORTURE.
func pushedChanges() int { return setting("RESOURCESYNC_TORTURE", 2000) / 2 }

// A moody front is the worst possible network between a Source and a hub.
type moody struct {
	hub   http.Handler
	moods [5]atomic.Int64 // how often it had which
	good  atomic.Bool
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mood := 4
	if r.Header.Get("Content-Type") == "application/xml" && !m.good.Load() {
		mood = rand.IntN(5)
	}
	m.moods[mood].Add(1)
	switch mood {
	case 0: // down
		panic(http.ErrAbortHandler)
	case 1:
		w.WriteHeader(http.StatusInternalServerError)
	case 2: // cuts the connection when it has taken what was sent
		m.hub.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case 3: // slow
		time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
		m.hub.ServeHTTP(w, r)
	default:
		m.hub.ServeHTTP(w, r)
	}
}

// TestPushedUnderFire kills a Source that writes and publishes again and again, at
// random moments, while its hub is down, slow, answers 500 and cuts connections.
// In the end every Destination has received every change, in order and without
// a gap.
func TestPushedUnderFire(t *testing.T) {
	needs.Time(t)
	kills := setting("RESOURCESYNC_KILLS", 3)
	eachEngine(t, func(t *testing.T, db database) {
		front := &moody{}
		server := httptest.NewServer(front)
		t.Cleanup(server.Close)
		uri := server.URL + "/websub/"
		relayed := pushlog.NewMemory()
		h, err := hub.New(uri, logtest.Seal(relayed), &hub.Options{
			AllowCallbacks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")},
			Retry:          10 * time.Millisecond,
			Logger:         slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		front.hub = &subscriber.Relay{Log: relayed, Hub: h, Token: pushToken}
		h.Register(changeTopic, documents+"framework/")
		ctx, cancel := context.WithCancel(context.Background())
		ran := make(chan error)
		go func() { ran <- h.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-ran })

		steady, slow, failing := subscriber.New(t, "a"), subscriber.New(t, ""), subscriber.New(t, "b")
		slow.Answer = func(*subscriber.Notification) int {
			time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
			return http.StatusOK
		}
		failing.Answer = func(*subscriber.Notification) int {
			if rand.IntN(4) == 0 {
				return http.StatusServiceUnavailable
			}
			return http.StatusOK
		}
		all := map[string]*subscriber.Subscriber{"steady": steady, "slow": slow, "failing": failing}
		for _, d := range all {
			d.Subscribe(uri, changeTopic)
		}
		for range kills {
			child := startChild(t, db, "push "+uri)
			time.Sleep(time.Duration(rand.IntN(800)) * time.Millisecond)
			child.kill()
		}
		front.good.Store(true) // or the end would take as long as the hub's mood lasts
		child := startChild(t, db, "push "+uri)
		host := newWriter(t, db)
		for name, d := range all {
			var h *subscriber.History
			eventually(t, func() (err error) {
				if h, err = subscriber.Replay(d.Taken()); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				return agree(t.Context(), h, host)
			})
			t.Logf("%s: %d notifications, %v", name, len(d.Taken()), h.Changes)
		}
		child.kill()
		t.Logf("the hub was down, broken, cut off, slow and well %d, %d, %d, %d and %d times",
			front.moods[0].Load(), front.moods[1].Load(), front.moods[2].Load(), front.moods[3].Load(), front.moods[4].Load())
	})
}

// agree returns the differences between h and the articles and changes of the host.
func agree(ctx context.Context, h *subscriber.History, host *writer) error {
	articles, err := host.articles(ctx)
	if err != nil {
		return err
	}
	changes, err := host.changes(ctx)
	if err != nil {
		return err
	}
	told := 0
	for _, n := range h.Changes {
		told += n
	}
	switch {
	case changes < pushedChanges():
		return fmt.Errorf("%d changes are written", changes)
	case told != changes:
		return fmt.Errorf("received %d of %d changes", told, changes)
	case len(h.Resources) != len(articles):
		return fmt.Errorf("received %d of %d articles", len(h.Resources), len(articles))
	}
	for key, version := range articles {
		if e := h.Resources[articleURI(key)]; e == nil || e.Metadata.Type != version {
			return fmt.Errorf("article %q is %v, not %q", key, e, version)
		}
	}
	return nil
}
