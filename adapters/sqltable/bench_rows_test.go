package sqltable

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/resourcesync-go/resourcesync/internal/rowdb"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// BenchmarkRows measures what must not depend on the number of rows of a journalled table, over
// HTTP and with a hub: the time from a commit to the Change List, to the page and to the
// notification that show it, and the time that pages take. It compares tables of 10,000, of a
// million and of RESOURCESYNC_BENCH_ROWS rows in turn, and in PostgreSQL one of as many rows in
// ten partitions. It also reports the measurements that do depend on their number. A hundred
// million rows take half an hour, 15 GB of disk in PostgreSQL, and 4 GB in the folder TMPDIR for
// SQLite:
//
//	RESOURCESYNC_BENCH_ROWS=100000000 go test -run '^$' -bench Rows -benchtime 1x -timeout 3h ./adapters/sqltable
func BenchmarkRows(b *testing.B) {
	for _, engine := range []func(testing.TB) *database{sqliteDatabase, postgresDatabase} {
		d := engine(b)
		b.Run(d.name, func(b *testing.B) {
			d.t = b
			for b.Loop() {
				benchRows(b, d)
			}
		})
	}
}

// A sized is a table of some number of rows that is published as a set.
type sized struct {
	d          *database
	client     *http.Client
	table      string
	rows       int
	before     int      // ids that come before the first
	partitions int      // 0 for a table without
	base       string   // URL of the set's documents
	pages      []string // URLs
	edits      int
	measured   map[string][]time.Duration
}

const benchRounds = 11

func benchRows(b *testing.B, d *database) {
	var tables []*sized
	var sets []rshttp.Set
	store := d.store()
	add := func(s *sized) {
		s.d, s.client, s.measured = d, new(http.Client), map[string][]time.Duration{}
		began := time.Now()
		s.create()
		b.Logf("%s created in %v: %.1f GB on disk", s.table, time.Since(began).Round(time.Second), float64(s.disk())/1e9)
		table := d.provider(Table{Name: s.table, Key: "id", URI: "https://example.org/" + s.table + "/{id}", LastModified: "updated", Length: "bytes"})
		records, err := table.Journal(b.Context(), store, s.table, nil)
		must(b, err)
		tables, sets = append(tables, s), append(sets, rshttp.Set{Name: s.table, Provider: records})
	}
	sizes := []int{10_000, 1_000_000, rows(b)}
	slices.Sort(sizes)
	for _, n := range slices.Compact(sizes) {
		if n <= rows(b) {
			add(&sized{table: fmt.Sprintf("record_%d", n), rows: n})
		}
	}
	if d.lite == nil {
		add(&sized{table: fmt.Sprintf("record_%d_parted", rows(b)), rows: rows(b), partitions: 10})
	}
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak of memory is measured from here
	src, err := rshttp.New("https://example.org/", sets, &rshttp.Options{
		Store: store, Hub: &hub.Options{}, Limits: rshttp.Limits{Wait: time.Hour, RenderTimeout: time.Hour},
		Push:   topic.Options{Flush: time.Millisecond}, // each change is a notification
		Logger: slog.New(slog.DiscardHandler),          // the first index comes before Run
	})
	must(b, err)
	srv := httptest.NewServer(src)
	defer srv.Close()
	ctx, stop := context.WithCancel(b.Context())
	stopped := make(chan error, 1)
	defer func() { stop(); must(b, <-stopped) }()
	for _, s := range tables {
		s.base = srv.URL + "/" + s.table + "/"
		s.time("first index", func() { s.readIndex() })
	}
	go func() { stopped <- src.Run(ctx) }()

	for round := range benchRounds {
		for _, s := range tables {
			s.visible("change to Change List", "changelist.xml", s.middle())
			s.visible("change to page", strings.TrimPrefix(s.pages[len(s.pages)/2], s.base), s.middle())
			s.visible("change to notification", "change/", s.middle())
			for name, i := range map[string]int{"first page": 0, "middle page": len(s.pages) / 2, "last page": len(s.pages) - 1} {
				s.visible("", "changelist.xml", 1+rand.N(s.rows-1)) // so that no page is cached
				s.time(name, func() { s.get(s.pages[i], "") })
			}
			if round%4 == 0 {
				s.newIndex()
			}
		}
	}
	b.Logf("at most %d MiB of memory before the crawls", peakMemory(b)>>20)
	for _, s := range tables {
		s.time("full crawl", func() { s.crawl() })
	}
	report(b, tables)
}

// create makes the table.
func (s *sized) create() {
	const columns = "(id {int} NOT NULL PRIMARY KEY, updated {int} NOT NULL, bytes {int} NOT NULL)"
	const row = "SELECT i, 1577836800 + i, 1000 + i % 1000000 FROM "
	if s.partitions == 0 {
		s.d.run("CREATE TABLE " + s.table + " " + columns)
	} else {
		s.d.run("CREATE TABLE " + s.table + " " + columns + " PARTITION BY RANGE (id)")
	}
	for i := range s.partitions {
		from, to := s.before+1+i*s.rows/s.partitions, s.before+1+(i+1)*s.rows/s.partitions
		s.d.run(fmt.Sprintf("CREATE TABLE %s_%d PARTITION OF %[1]s FOR VALUES FROM (%[3]d) TO (%d)", s.table, i, from, to))
	}
	if s.d.lite != nil {
		s.d.run(fmt.Sprintf("INSERT INTO %s %s (WITH RECURSIVE s(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM s WHERE i < %d) SELECT i FROM s)", s.table, row, s.before+1, s.before+s.rows))
		return
	}
	s.d.session(func(exec func(string) error) {
		// VACUUM sees only rows that are certainly on disk.
		must(s.d.t, exec("SET synchronous_commit = on"))
		must(s.d.t, exec(fmt.Sprintf("INSERT INTO %s %s generate_series(%d, %d) i", s.table, row, s.before+1, s.before+s.rows)))
		must(s.d.t, exec("VACUUM (FREEZE, ANALYZE) "+s.table))
	})
}

// disk returns the bytes that the table takes on disk; for SQLite, the bytes of the
// whole file.
func (s *sized) disk() (n int64) {
	sql := "SELECT coalesce(sum(pg_total_relation_size(relid))::bigint, pg_total_relation_size('" + s.table + "')) FROM pg_partition_tree('" + s.table + "')"
	if s.d.lite != nil {
		sql = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
	}
	s.d.rows(sql, func(r rowdb.Row) error { n = r.Int(0); return nil })
	return n
}

// middle returns the id of a row in the middle page.
func (s *sized) middle() int { return s.rows/2 + 2 }

func (s *sized) time(name string, f func()) {
	began := time.Now()
	f()
	s.measured[name] = append(s.measured[name], time.Since(began))
}

// get requests a document, and returns its body and entity tag. The body is empty if the
// tag is still the known one.
func (s *sized) get(url, known string) (body []byte, tag string) {
	s.d.t.Helper()
	req, err := http.NewRequestWithContext(s.d.t.Context(), "GET", url, nil)
	must(s.d.t, err)
	req.Header.Set("Accept-Encoding", "identity")
	if known != "" {
		req.Header.Set("If-None-Match", known)
	}
	res, err := s.client.Do(req)
	must(s.d.t, err)
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	must(s.d.t, err)
	if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNotModified && res.StatusCode != http.StatusNotFound {
		s.d.t.Fatalf("%s: %s", url, res.Status)
	}
	return body, res.Header.Get("ETag")
}

// readIndex reads the URLs of all pages. A set of one page has no index.
func (s *sized) readIndex() (tag string) {
	s.d.t.Helper()
	url := s.base + "resourcelist.xml"
	body, tag := s.get(url, "")
	head, entries, err := rsxml.Decode(strings.NewReader(string(body)))
	must(s.d.t, err)
	s.pages = []string{url}
	if head.Index {
		s.pages = nil
		for _, e := range entries {
			s.pages = append(s.pages, strings.Replace(e.Loc, "https://example.org/"+s.table+"/", s.base, 1))
		}
	}
	return tag
}

// visible changes a row, and measures the time from the commit until a document, given by
// its path, shows the change.
func (s *sized) visible(name, path string, id int) {
	s.d.t.Helper()
	_, tag := s.get(s.base+path, "")
	s.edits++
	length := 2_000_000_000 + s.edits
	must(s.d.t, s.d.exec(fmt.Sprintf("UPDATE %s SET bytes = %d WHERE id = %d", s.table, length, id)))
	committed := time.Now()
	var body []byte
	for deadline := committed.Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if body, _ = s.get(s.base+path, tag); len(body) > 0 && strings.Contains(string(body), strconv.Itoa(length)) {
			break
		}
		if time.Now().After(deadline) {
			s.d.t.Fatalf("%s does not show the change of %d: %.2000s", path, id, body)
		}
	}
	if name != "" {
		s.measured[name] = append(s.measured[name], time.Since(committed))
	}
}

// newIndex deletes the last row or inserts it again, and measures the time until the index
// shows the state after it. An index shows the time of the newest change.
func (s *sized) newIndex() {
	s.d.t.Helper()
	tag := s.readIndex()
	sql := fmt.Sprintf("DELETE FROM %s WHERE id = %d", s.table, s.rows)
	if len(s.measured["change to index"])%2 == 1 {
		sql = fmt.Sprintf("INSERT INTO %s VALUES (%d, 1577836800, 1000)", s.table, s.rows)
	}
	must(s.d.t, s.d.exec(sql))
	s.time("change to index", func() {
		for now := tag; now == tag; time.Sleep(time.Millisecond) {
			_, now = s.get(s.base+"resourcelist.xml", tag)
		}
	})
	s.readIndex()
}

// crawl reads all pages, as four Destinations at once would.
func (s *sized) crawl() {
	var g errgroup.Group
	g.SetLimit(4)
	for _, url := range s.pages {
		g.Go(func() error {
			req, err := http.NewRequestWithContext(s.d.t.Context(), "GET", url, nil)
			if err != nil {
				return err
			}
			req.Header.Set("Accept-Encoding", "gzip")
			res, err := s.client.Do(req)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s, %v", url, res.Status, err)
			}
			return nil
		})
	}
	must(s.d.t, g.Wait())
}

// report logs the medians of all times, and compares each table with the last.
func report(b *testing.B, tables []*sized) {
	largest := tables[len(tables)-1]
	for _, name := range []string{"first index", "change to index", "first page", "middle page", "last page", "change to Change List", "change to page", "change to notification", "full crawl"} {
		line := fmt.Sprintf("%-24s", name)
		most := median(largest.measured[name])
		for _, s := range tables {
			m := median(s.measured[name])
			line += fmt.Sprintf("%12v for %s (%.2f)", m.Round(10*time.Microsecond), strings.TrimPrefix(s.table, "record_"), float64(most)/float64(m))
		}
		b.Log(line)
	}
	crawl := median(largest.measured["full crawl"])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(largest.rows)/crawl.Seconds(), "crawled/s")
	b.ReportMetric(float64(peakMemory(b))/(1<<20), "MiB-peak")
}

func median(d []time.Duration) time.Duration {
	slices.SortFunc(d, cmp.Compare)
	return d[len(d)/2]
}

// peakMemory returns the peak resident memory of the process in bytes.
func peakMemory(b *testing.B) int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(peak)[0], 10, 64)
	must(b, err)
	return kib << 10
}
