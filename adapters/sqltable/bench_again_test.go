package sqltable

import (
	"fmt"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
)

// BenchmarkCutsAgain deletes a row, or inserts it again, and divides the table into pages: a
// table of 20,000 rows, and one of RESOURCESYNC_BENCH_ROWS, in turn. The smaller table has the
// rows in the middle of the larger one, because rows with larger integers fill more pages of
// the database. It also reports the time that counting all rows takes.
func BenchmarkCutsAgain(b *testing.B) {
	for _, engine := range []func(testing.TB) *database{sqliteDatabase, postgresDatabase} {
		d := engine(b)
		b.Run(d.name, func(b *testing.B) {
			d.t = b
			store := d.store()
			const small = 20_000
			large := max(rows(b), small+1)
			divide := func(n int) (again func(), all func()) {
				s := &sized{d: d, table: fmt.Sprintf("record_%d", n), rows: n, before: (large - n) / 2}
				s.create()
				table := d.provider(Table{Name: s.table, Key: "id", URI: "https://example.org/{id}", LastModified: "updated"})
				records, err := table.Journal(b.Context(), store, s.table, nil)
				must(b, err)
				const every = 10_000
				if _, err := records.Cuts(b.Context(), nil, every); err != nil {
					b.Fatal(err)
				}
				return func() {
						_, err := records.Cuts(b.Context(), nil, every)
						must(b, err)
					}, func() {
						stored, err := records.Journal.Division(b.Context(), every, &sqlstore.Division{})
						must(b, err)
						_, err = table.Cuts(b.Context(), stored.Cuts, every)
						must(b, err)
					}
			}
			few, _ := divide(small)
			many, all := divide(large)
			edits := 0
			edit := func(rows int) {
				sql := fmt.Sprintf("DELETE FROM record_%d WHERE id = %d", rows, large/2)
				if edits%4 >= 2 {
					sql = fmt.Sprintf("INSERT INTO record_%d VALUES (%d, 1577836800, 1000)", rows, large/2)
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
				edit(small)
				c = append(c, took(few))
				edit(large)
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
