package sqltable

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// BenchmarkHostServer is BenchmarkHost for database servers: single rows are updated, each in a
// transaction, in a table with triggers whose changes are published meanwhile, and in the same
// table without, in turns of half a second: without, with, with, without. ratio is the median of
// these, between the quartiles low and high. In PostgreSQL, the triggers write to the journal in
// the same database. In MariaDB, they write to an outbox, which is drained twice a second into a
// set in SQLite.
func BenchmarkHostServer(b *testing.B) {
	for _, engine := range []func(testing.TB) *database{postgresDatabase, mysqlDatabase} {
		d := engine(b)
		if d.pg != nil { // each commit waits for the disk, as by default
			config := d.pg.Config()
			config.ConnConfig.RuntimeParams["synchronous_commit"] = "on"
			pool, err := pgxpool.NewWithConfig(b.Context(), config)
			must(b, err)
			b.Cleanup(pool.Close)
			d.pg = pool
		}
		for _, name := range []string{"papers", "alone"} {
			d.run("CREATE TABLE "+name+" (id {int} NOT NULL PRIMARY KEY, title {plain}, updated {int} NOT NULL, body {plain})", fill(d, name))
		}
		table := Table{Name: "papers", Key: "id", URI: "https://example.org/papers/{id}", LastModified: "updated"}
		if d.pg != nil {
			publishPapers(b, d, table)
		} else {
			drainPapers(b, d, table)
		}
		for _, writers := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s, %d writers", d.name, writers), func(b *testing.B) {
				var ratios, rates []float64
				d.rate("papers", writers)
				for b.Loop() {
					alone := d.rate("alone", writers)
					with := d.rate("papers", writers) + d.rate("papers", writers)
					alone += d.rate("alone", writers)
					ratios, rates = append(ratios, with/alone), append(rates, alone)
				}
				slices.Sort(ratios)
				slices.Sort(rates)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(rates[len(rates)/2], "theirs/s")
				b.ReportMetric(ratios[len(ratios)/4], "low")
				b.ReportMetric(ratios[len(ratios)/2], "ratio")
				b.ReportMetric(ratios[len(ratios)*3/4], "high")
			})
		}
	}
}

// fill returns a statement that inserts the rows of a table.
func fill(d *database, name string) string {
	if d.pg != nil {
		return fmt.Sprintf("INSERT INTO %s SELECT i, 'paper ' || i, 1700000000 + i, lpad(i::text, 200, '0') FROM generate_series(1, %d) i", name, hostRows)
	}
	return fmt.Sprintf("INSERT INTO %s SELECT seq, concat('paper ', seq), 1700000000 + seq, lpad(seq, 200, '0') FROM seq_1_to_%d", name, hostRows)
}

// publishPapers creates the triggers of PostgreSQL, and runs a Source with the table.
func publishPapers(b *testing.B, d *database, table Table) {
	store := d.store()
	papers, err := d.provider(table).Journal(b.Context(), store, "papers", nil)
	must(b, err)
	src, err := rshttp.New("https://example.org/", []rshttp.Set{{Name: "papers", Provider: papers}}, &rshttp.Options{Store: store, Logger: slog.New(slog.DiscardHandler)})
	must(b, err)
	whileRunning(b, src.Run)
	w := httptest.NewRecorder()
	src.ServeHTTP(w, httptest.NewRequest("GET", "/papers/changelist.xml", nil))
	if w.Code != http.StatusOK {
		b.Fatal(w.Code)
	}
}

// drainPapers creates the triggers of MariaDB, and drains their outbox.
func drainPapers(b *testing.B, d *database, table Table) {
	o := d.outbox(table, "papers")
	set := storedSet(b)
	whileRunning(b, func(ctx context.Context) error {
		for ctx.Err() == nil {
			if _, err := o.Drain(ctx, set); err != nil && ctx.Err() == nil {
				return err
			}
			time.Sleep(500 * time.Millisecond)
		}
		return nil
	})
}

// whileRunning runs f until the benchmark ends.
func whileRunning(b *testing.B, f func(context.Context) error) {
	ctx, stop := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	go func() { stopped <- f(ctx) }()
	b.Cleanup(func() { stop(); must(b, <-stopped) })
}

// rate updates single rows by some writers for half a second, and returns their number in a
// second.
func (d *database) rate(table string, writers int) float64 {
	var n atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range writers {
		wg.Go(func() {
			update := d.updater("UPDATE " + table + " SET updated = updated + 1 WHERE id = ")
			for time.Since(began) < 500*time.Millisecond {
				must(d.t, update(1+rand.IntN(hostRows)))
				n.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(n.Load()) / time.Since(began).Seconds()
}

// updater returns a function that runs a prepared statement with an id.
func (d *database) updater(sql string) func(id int) error {
	ctx := d.t.Context()
	if d.pg != nil {
		return func(id int) error {
			_, err := d.pg.Exec(ctx, sql+"$1", id)
			return err
		}
	}
	stmt, err := d.maria.PrepareContext(ctx, sql+"?")
	must(d.t, err)
	return func(id int) error { _, err := stmt.ExecContext(ctx, id); return err }
}
