package rshttp_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/scan"
)

// panicking is a table whose Stat and Watch panic on demand.
type panicking struct {
	*table
	on atomic.Bool
}

func (p *panicking) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	if p.on.Load() {
		panic("stat")
	}
	return resourcesync.Stat{Version: "1"}, nil
}

func (p *panicking) Watch(context.Context, func()) error { panic("watch") }

// TestRunOutlivesPanics: a panic of a provider is logged, and Run continues.
func TestRunOutlivesPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &panicking{table: tableOf(3)}
		src := newSource(t, nil, rshttp.Set{Provider: p})
		get(t, src, index)
		p.on.Store(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := src.Run(ctx); err != nil || ctx.Err() == nil {
			t.Errorf("Run returned early: %v", err)
		}
	})
}

// endless is a provider whose listing goes on until its context ends.
type endless struct {
	*table
	reading atomic.Bool
}

func (e *endless) Stat(ctx context.Context, _ resourcesync.Range) (resourcesync.Stat, error) {
	e.reading.Store(true)
	defer e.reading.Store(false)
	<-ctx.Done()
	time.Sleep(time.Second) // it takes a while to let go
	return resourcesync.Stat{}, ctx.Err()
}

// TestRunLeavesNothingBehind: after Run returns, a host may close the resources that
// its provider reads.
func TestRunLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &endless{table: tableOf(3)}
		src := newSource(t, nil, rshttp.Set{Provider: p})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := src.Run(ctx); err != nil {
			t.Error(err)
		}
		if p.reading.Load() {
			t.Error("the provider is still asked after Run has returned")
		}
	})
}

// TestUnlistedRanges: ranges that no index lists, which anyone can request, leave room
// for other documents.
func TestUnlistedRanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tableOf(3)
		slow.hold = make(chan struct{})
		src := newSource(t, &rshttp.Options{Limits: rshttp.Limits{Renderings: 4}},
			rshttp.Set{Name: "a", Provider: slow}, rshttp.Set{Name: "b", Provider: tableOf(3)})
		for _, name := range []string{"~YQ", "~Yg", "~Yw", "~ZA"} {
			go get(t, src, fmt.Sprintf("/resourcesync/a/resourcelist/%s.xml", name))
		}
		synctest.Wait()
		if res := get(t, src, "/resourcesync/b/resourcelist.xml"); res.StatusCode != 200 {
			t.Error(res.Status)
		}
		close(slow.hold)
		synctest.Wait()
	})
}

// TestReadinessNeedsAnAnswer: a set whose status is unknown is not considered ready.
func TestReadinessNeedsAnAnswer(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	src.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, http.MethodGet, "/resourcesync/resourcelist.xml", nil))
	for _, path := range []string{"/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml"} {
		if res := get(t, src, path); res.StatusCode != 503 {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// TestServerGoing: a request whose context ends while the client is still connected
// does not get an empty 200.
func TestServerGoing(t *testing.T) {
	p := tableOf(3)
	p.hold = make(chan struct{})
	defer close(p.hold)
	src := newSource(t, nil, rshttp.Set{Provider: p})
	base, shutdown := context.WithCancel(t.Context())
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		shutdown()
		src.ServeHTTP(w, r)
	}))
	srv.Config.BaseContext = func(net.Listener) context.Context { return base }
	srv.Start()
	defer srv.Close()
	res, err := http.Get(srv.URL + "/resourcesync/resourcelist.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 503 {
		t.Error(res.Status)
	}
}
