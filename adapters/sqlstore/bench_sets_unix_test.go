//go:build unix

package sqlstore

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// A counter is a database that counts its statements.
type counter struct {
	rowdb.DB
	n *atomic.Int64
}

func (c counter) conn(f func(rowdb.Conn) error) func(rowdb.Conn) error {
	return func(conn rowdb.Conn) error { return f(countingConn{conn, c.n}) }
}

func (c counter) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	c.n.Add(1)
	return c.DB.Query(ctx, sql, each, args...)
}

func (c counter) Do(ctx context.Context, f func(rowdb.Conn) error) error {
	return c.DB.Do(ctx, c.conn(f))
}

func (c counter) Snapshot(ctx context.Context, f func(rowdb.Conn) error) error {
	return c.DB.Snapshot(ctx, c.conn(f))
}

func (c counter) Update(ctx context.Context, f func(rowdb.Conn) error) error {
	return c.DB.Update(ctx, c.conn(f))
}

func (c counter) Write(ctx context.Context, f func(rowdb.Conn) error) error {
	return c.DB.Write(ctx, c.conn(f))
}

func (c counter) TryWrite(ctx context.Context, f func(rowdb.Conn) error) (bool, error) {
	return c.DB.TryWrite(ctx, c.conn(f))
}

func (c counter) Session(ctx context.Context, f func(rowdb.Conn) error) error {
	return c.DB.Session(ctx, c.conn(f))
}

type countingConn struct {
	rowdb.Conn
	n *atomic.Int64
}

func (c countingConn) Query(ctx context.Context, sql string, each func(rowdb.Row) error, args ...any) error {
	c.n.Add(1)
	return c.Conn.Query(ctx, sql, each, args...)
}

func (c countingConn) QueryEach(ctx context.Context, sql string, n int, args func(int) []any, each func(int, rowdb.Row) error) error {
	c.n.Add(int64(n))
	return c.Conn.QueryEach(ctx, sql, n, args, each)
}

func (c countingConn) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	c.n.Add(1)
	return c.Conn.Exec(ctx, sql, args...)
}

func (c countingConn) ExecEach(ctx context.Context, sql string, n int, args func(int) []any) error {
	c.n.Add(int64(n))
	return c.Conn.ExecEach(ctx, sql, n, args)
}

// BenchmarkSets measures a Source with one set and with a thousand, of ten resources each: the
// time until it answers, the size of the Source Description, memory, the statements of a
// request, and the statements and CPU time while nothing happens.
//
//	go test -run '^$' -bench '/^Sets$|BenchmarkSets' -benchtime 1x ./adapters/sqlstore
func BenchmarkSets(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		for _, n := range []int{1, 1000} {
			for _, push := range []bool{false, true} {
				b.Run(fmt.Sprintf("%d sets, hub %t", n, push), func(b *testing.B) {
					for b.Loop() {
						benchSets(b, e, n, push)
					}
				})
			}
		}
	})
}

func benchSets(b *testing.B, e engine, n int, push bool) {
	db := e.make(b)
	store := db.open(b, nil)
	for i := range n {
		set := store.mustSet(b, fmt.Sprintf("set-%04d", i), nil)
		if _, err := set.change(b.Context(), puts(10)); err != nil {
			b.Fatal(err)
		}
	}
	runtime.GC()
	before := memory(b, "VmRSS:")
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)

	began := time.Now()
	store = db.open(b, nil)
	statements := new(atomic.Int64)
	store.db = counter{store.db, statements}
	var sets []rshttp.Set
	for i := range n {
		name := fmt.Sprintf("set-%04d", i)
		sets = append(sets, rshttp.Set{Name: name, Provider: store.mustSet(b, name, nil)})
	}
	opts := &rshttp.Options{Store: store, Logger: slog.New(slog.DiscardHandler)}
	if push {
		opts.Hub = &hub.Options{}
	}
	src, err := rshttp.New("https://example.org/", sets, opts)
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- src.Run(ctx) }()
	b.Cleanup(func() {
		stop()
		if err := <-stopped; err != nil {
			b.Error(err)
		}
	})
	get := func(path string) int {
		w := httptest.NewRecorder()
		src.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != http.StatusOK {
			b.Fatalf("%s: %d", path, w.Code)
		}
		return w.Body.Len()
	}
	last := fmt.Sprintf("/set-%04d/", n-1)
	get(last + "resourcelist.xml")
	b.ReportMetric(float64(time.Since(began).Milliseconds()), "ms/start")
	b.ReportMetric(float64(statements.Load()), "statements/start")
	b.ReportMetric(float64(get("/.well-known/resourcesync")), "B/description")
	time.Sleep(15 * time.Second) // the first announcements
	b.ReportMetric(memory(b, "VmRSS:")-before, "MiB")

	used, cpu := statements.Load(), cpuTime(b)
	const idle = 20 * time.Second
	time.Sleep(idle)
	b.ReportMetric(float64(statements.Load()-used)/idle.Seconds(), "idle-statements/s")
	b.ReportMetric((cpuTime(b)-cpu).Seconds()/idle.Seconds()*100, "idle-CPU-%")

	var each []int64 // the least of some: background work has statements, too
	for range 20 {
		used := statements.Load()
		get(last + "changelist.xml")
		each = append(each, statements.Load()-used)
	}
	b.ReportMetric(float64(slices.Min(each)), "statements/request")
	set, err := store.Set(b.Context(), last[1:len(last)-1], nil)
	if err != nil {
		b.Fatal(err)
	}
	cpu = cpuTime(b)
	used = statements.Load()
	const changes = 20
	for i := range changes {
		if err := set.Put(b.Context(), resourcesync.Resource{Key: fmt.Sprintf("new-%d", i), URI: fmt.Sprintf("https://example.org/new/%d", i)}); err != nil {
			b.Fatal(err)
		}
		time.Sleep(250 * time.Millisecond)
	}
	b.ReportMetric(float64(statements.Load()-used)/changes, "statements/change")
	b.ReportMetric((cpuTime(b)-cpu).Seconds()/changes*1e3, "CPU-ms/change")
	b.ReportMetric(0, "ns/op")
}
