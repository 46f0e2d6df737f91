package rshttp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// An events records what happens, in order.
type events struct {
	mu  sync.Mutex
	all []string
}

func (e *events) add(what string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, what)
}

func (e *events) want(t *testing.T, want ...string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Equal(e.all, want) {
		t.Errorf("%q, want %q", e.all, want)
	}
	e.all = nil
}

// A slowStore is a Store whose Run and log take a second to stop.
type slowStore struct {
	memoryStore
	*events
	fails  chan error // ends Run
	health error
}

func newSlowStore() *slowStore {
	e := &events{}
	s := &slowStore{events: e, fails: make(chan error, 1)}
	s.log = &slowLog{pushlog.NewMemory(), e}
	return s
}

func (s *slowStore) Health(context.Context) error { return s.health }

func (s *slowStore) Run(ctx context.Context) error {
	select {
	case err := <-s.fails:
		return err
	case <-ctx.Done():
	}
	stops(s.events, "store")
	return nil
}

// stops records that something is being stopped, and has stopped a second later.
func stops(e *events, what string) {
	e.add("stop " + what)
	time.Sleep(time.Second)
	e.add(what + " has stopped")
}

type slowLog struct {
	pushlog.Log
	*events
}

func (o *slowLog) Lead(ctx context.Context, f func(context.Context) error) (bool, error) {
	return o.Log.Lead(ctx, func(ctx context.Context) error {
		err := f(ctx)
		if ctx.Err() != nil {
			stops(o.events, "publisher")
		}
		return err
	})
}

func (o *slowLog) Watch(ctx context.Context, wake func()) error {
	err := o.Log.Watch(ctx, wake)
	o.add("hub")
	return err
}

// A slowSet takes a second to stop watching.
type slowSet struct {
	*memory.Set
	*events
}

func (s *slowSet) Watch(ctx context.Context, wake func()) error {
	<-ctx.Done()
	stops(s.events, "watching")
	return ctx.Err()
}

// TestRunOrder: each component ends before one that it needs is stopped, however Run
// completes.
func TestRunOrder(t *testing.T) {
	broken := errors.New("disk on fire")
	for name, fail := range map[string]error{"stopped": nil, "the store fails": broken} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newSlowStore()
				src := newSource(t, &rshttp.Options{Store: store, Hub: &hub.Options{}},
					rshttp.Set{Provider: tableOf(1), Watcher: &slowSet{memory.New(nil), store.events}})
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				ended := make(chan error, 1)
				go func() { ended <- src.Run(ctx) }()
				time.Sleep(time.Minute)
				if err := src.Health(t.Context()); err != nil {
					t.Errorf("running: %v", err)
				}
				if err := src.Run(ctx); err == nil {
					t.Error("Run runs twice")
				}
				want := []string{"stop watching", "watching has stopped", // by the source
					"hub", "hub", // verifying and delivering
					"stop watching", "watching has stopped", "stop publisher", "publisher has stopped"}
				if fail == nil {
					want = append(want, "stop store", "store has stopped")
					stop()
				} else {
					store.fails <- fail
				}
				err := <-ended
				store.want(t, want...)
				if !errors.Is(err, fail) || err != nil && !strings.Contains(err.Error(), "store: "+fail.Error()) {
					t.Errorf("Run: %v", err)
				}
				if err := src.Health(t.Context()); !errors.Is(err, fail) {
					t.Errorf("after Run: %v", err)
				}
			})
		})
	}
}

// TestRunNamesWhatEnds: a component that ends without an error ends Run, too.
func TestRunNamesWhatEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		src := newSource(t, &rshttp.Options{Store: store}, rshttp.Set{Provider: tableOf(1)})
		store.fails <- nil
		if err := src.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "rshttp: store: ") {
			t.Errorf("Run: %v", err)
		}
	})
}

// TestHealthNamesComponents: an error of Health names its component.
func TestHealthNamesComponents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newSlowStore()
		store.health = errors.New("no space left")
		src := newSource(t, &rshttp.Options{Store: store}, rshttp.Set{Provider: tableOf(1)})
		defer running(t, src)()
		if err := src.Health(t.Context()); !errors.Is(err, store.health) || err.Error() != "rshttp: store: no space left" {
			t.Errorf("Health: %v", err)
		}
	})
}

// TestD12_SourceIsNotRun: a Source with notifications that no process runs reports it
// within seconds, once in the log and in its health, and names what does not run. One
// that only serves documents needs no Run.
func TestD12_SourceIsNotRun(t *testing.T) {
	const message = "not running: store, publisher, hub, source"
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log bytes.Buffer
		lines := func(n int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if strings.Count(log.String(), message) != n {
				t.Errorf("%d lines expected:\n%s", n, &log)
			}
		}
		logger := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), nil))
		store := newSlowStore()
		open := func() *rshttp.Source {
			return newSource(t, &rshttp.Options{Store: store, Hub: &hub.Options{}, Logger: logger}, rshttp.Set{Provider: memory.New(nil)})
		}
		wantHealth := func(src *rshttp.Source, healthy bool) {
			t.Helper()
			if err := src.Health(t.Context()); (err == nil) != healthy || !healthy && !strings.Contains(err.Error(), message) {
				t.Errorf("Health: %v", err)
			}
		}

		pull := newSource(t, &rshttp.Options{Logger: logger}, rshttp.Set{Provider: memory.New(nil)})
		get(t, pull, "/resourcesync/resourcelist.xml")
		src := open()
		get(t, src, "/resourcesync/resourcelist.xml")
		wantHealth(src, true)
		lines(0)
		time.Sleep(10 * time.Second)
		lines(1)
		wantHealth(src, false)
		wantHealth(pull, true)

		stop := running(t, open()) // as another process
		time.Sleep(time.Second)
		wantHealth(src, true)
		get(t, src, "/resourcesync/changelist.xml")
		time.Sleep(time.Hour)
		wantHealth(src, true)
		lines(1)
		stop()
		wantHealth(src, true) // as another one may take over
		do(t, src, http.MethodGet, "/resourcesync/websub/")
		time.Sleep(10 * time.Second)
		lines(2)
		wantHealth(src, false)

		stop = running(t, src)
		synctest.Wait()
		wantHealth(src, true)
		stop()
		wantHealth(src, true)
		time.Sleep(10 * time.Second)
		wantHealth(src, false)
		lines(3)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestOwnHub: the Source mounts its hub, at the URI that its Capability Lists and its
// topics name, however it is mounted itself.
func TestOwnHub(t *testing.T) {
	app := http.NotFoundHandler()
	foreign := topic.RemoteHub{URI: "https://hub.example.net/"}
	for name, tt := range map[string]struct {
		o    rshttp.Options
		path string
	}{
		"default":     {rshttp.Options{Hub: &hub.Options{}}, "/resourcesync/websub/"},
		"another URI": {rshttp.Options{Hub: &hub.Options{}, HubURI: "https://example.org/hub"}, "/hub"},
	} {
		t.Run(name, func(t *testing.T) {
			src := newSource(t, &tt.o, rshttp.Set{Name: "a", Provider: memory.New(nil)},
				rshttp.Set{Name: "b", Provider: tableOf(1), RemoteHubs: []topic.RemoteHub{foreign}})
			for mounted, h := range map[string]http.Handler{"Wrap": src.Wrap(app), "Handler": src} {
				if res := get(t, h, tt.path); res.StatusCode != 200 || !strings.Contains(text(t, res), "WebSub") {
					t.Errorf("%s: the hub: %s", mounted, res.Status)
				}
				if res := get(t, h, tt.path+"x"); res.StatusCode != 404 {
					t.Errorf("%s: below the hub: %s", mounted, res.Status)
				}
				form := strings.NewReader("hub.mode=subscribe&hub.callback=https://example.net/&hub.topic=https://example.org/resourcesync/a/change/")
				req := httptest.NewRequest(http.MethodPost, tt.path, form)
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, req)
				if w.Code != 202 {
					t.Errorf("%s: subscribe: %d %s", mounted, w.Code, w.Body)
				}
			}
			own := `<rs:ln rel="hub" href="https://example.org` + tt.path + `"/>`
			for set, want := range map[string]string{
				"a": own,
				"b": own + "\n" + `<rs:ln rel="hub" href="` + foreign.URI + `"/>`,
			} {
				if list := text(t, get(t, src, "/resourcesync/"+set+"/capabilitylist.xml")); !strings.Contains(list, want) {
					t.Errorf("the Capability List of %s:\n%s", set, list)
				}
			}
			if src.Hub() == nil {
				t.Error("no Hub")
			}
		})
	}
	for name, o := range map[string]*rshttp.Options{
		"a URI without a hub":    {HubURI: "https://example.org/hub"},
		"a hub at no URI":        {HubURI: "hub", Hub: &hub.Options{}},
		"impossible options":     {Hub: &hub.Options{Retry: -1}},
		"a Store that is broken": {Store: brokenStore{}},
		"a hub of that Store":    {Store: brokenStore{}, Hub: &hub.Options{}},
	} {
		if _, err := rshttp.New("https://example.org/", []rshttp.Set{{Provider: tableOf(1)}}, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A brokenStore has no log.
type brokenStore struct{ rshttp.Store }

func (brokenStore) Log(context.Context, string) (topiclog.Log, error) {
	return topiclog.Log{}, errors.New("broken")
}

// statingJournal is a journal that is a Stater.
type statingJournal struct{ resourcesync.Changer }

func (statingJournal) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Version: "1", LastModified: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}, nil
}

// TestJournalIsTheStater: a journal that is also a Stater has to be named only once.
func TestJournalIsTheStater(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: tableOf(1), Changer: statingJournal{memory.New(nil)}})
	for range 2 {
		if list := text(t, get(t, src, "/resourcesync/resourcelist.xml")); !strings.Contains(list, `at="2026-01-02T00:00:00Z"`) {
			t.Errorf("%s", list)
		}
	}
}
