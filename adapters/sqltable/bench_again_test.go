package sqltable

import (
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// BenchmarkCutsAgain deletes a row, or inserts it again, and divides the table into pages: a
// table of 10,000 rows, and one of RESOURCESYNC_BENCH_ROWS, in turn. It also reports the time
// that counting all rows takes.
func BenchmarkCutsAgain(b *testing.B) {
	for _, engine := range []func(testing.TB) *database{sqliteDatabase, postgresDatabase} {
		d := engine(b)
		b.Run(d.name, func(b *testing.B) {
			d.t = b
			store := d.store()
			divide := func(n int) (again func(), all func()) {
				s := &sized{d: d, table: fmt.Sprintf("record_%d", n), rows: n}
				s.create()
				table := d.provider(Table{Name: s.table, Key: "id", URI: "https://example.org/{id}", LastModified: "updated"})
				records, err := table.Journalled(b.Context(), store, s.table, nil)
				must(b, err)
				const every = 10_000
				if _, err := records.Cuts(b.Context(), nil, every); err != nil {
					b.Fatal(err)
				}
				return func() {
						_, err := records.Cuts(b.Context(), nil, every)
						must(b, err)
					}, func() {
						stored, err := records.Journal.Division(b.Context(), every)
						must(b, err)
						_, err = table.Cuts(b.Context(), stored.Cuts, every)
						must(b, err)
					}
			}
			few, _ := divide(20_000)
			many, all := divide(max(rows(b), 20_001))
			edits := 0
			edit := func(rows int) {
				sql := fmt.Sprintf("DELETE FROM record_%d WHERE id = %d", rows, rows/2)
				if edits%4 >= 2 {
					sql = fmt.Sprintf("INSERT INTO record_%d VALUES (%d, 1577836800, 1000)", rows, rows/2)
				}
				edits++
				d.run(sql)
				d.numbered(store)
			}
			var a, c []time.Duration
			took := func(f func()) time.Duration {
				began := time.Now()
				f()
				return time.Since(began)
			}
			for b.Loop() {
				edit(20_000)
				c = append(c, took(few))
				edit(max(rows(b), 20_001))
				a = append(a, took(many))
			}
			whole := took(all)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(median(a))/float64(time.Millisecond), "many-ms")
			b.ReportMetric(float64(median(c))/float64(time.Millisecond), "few-ms")
			b.ReportMetric(float64(median(a))/float64(median(c)), "ratio")
			b.ReportMetric(float64(whole)/float64(time.Millisecond), "all-ms")
		})
	}
}

var _ resourcesync.Cutter = (*divider)(nil)
