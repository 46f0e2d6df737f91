package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// BenchmarkSizes measures times that must not depend on the size of a set: the time
// from the commit of a recorded change until the Change List, the page of the resource
// and a notification show it. It compares a set of 10,000 resources with one of
// RESOURCESYNC_BENCH_ROWS, in turn, in one store.
func BenchmarkSizes(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		db := e.make(b)
		store := db.open(b, nil)
		few, many := newSizedSet(b, store, 10_000), newSizedSet(b, store, rows())
		src, err := rshttp.New(documents, []rshttp.Set{{Name: few.Name(), Provider: few}, {Name: many.Name(), Provider: many}}, &rshttp.Options{
			Store: store, Hub: &hub.Options{}, Limits: rshttp.Limits{Wait: time.Hour},
			Push:   topic.Options{Flush: time.Millisecond}, // each change is a notification
			Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- src.Run(ctx) }()
		defer func() { stop(); <-stopped }()
		host := newWriter(b, db)
		for b.Loop() {
			for _, s := range []*sizedSet{few, many} {
				s.src, s.host = src, host
				s.findMiddle()
			}
			for range 51 {
				for _, s := range []*sizedSet{few, many} {
					s.visible("changelist.xml")
					s.visible(s.page)
					s.visible("change/")
				}
			}
		}
		for what, path := range map[string]func(*sizedSet) string{
			"list":         func(*sizedSet) string { return "changelist.xml" },
			"page":         func(s *sizedSet) string { return s.page },
			"notification": func(*sizedSet) string { return "change/" },
		} {
			small, large := few.median(path(few)), many.median(path(many))
			b.ReportMetric(small.Seconds()*1e3, "ms/"+what+"-few")
			b.ReportMetric(large.Seconds()*1e3, "ms/"+what+"-many")
			b.ReportMetric(large.Seconds()/small.Seconds(), "x-"+what)
		}
		b.ReportMetric(0, "ns/op")
	})
}

// A sizedSet is a published set of some size.
type sizedSet struct {
	*Set
	b     *testing.B
	src   *rshttp.Source
	host  *writer
	page  string                // the middle page of the Resource List
	first resourcesync.Resource // the first resource of that page
	edits int64
	times map[string][]time.Duration // until a document shows a change, by path
}

func newSizedSet(b *testing.B, store *Store, n int) *sizedSet {
	s := &sizedSet{Set: store.mustSet(b, fmt.Sprint("set-", n), &scan.SetOptions{AwaitScan: true}), b: b, times: map[string][]time.Duration{}}
	began := time.Now()
	if _, err := s.Scan(b.Context(), articles(n)); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d resources in %v", n, time.Since(began).Round(time.Second))
	return s
}

// findMiddle finds the middle page. A set of one page has no index.
func (s *sizedSet) findMiddle() {
	s.page = "resourcelist.xml"
	index, entries := s.read(s.page)
	if index {
		_, s.page, _ = strings.Cut(entries[len(entries)/2].Loc, "/"+s.Name()+"/")
		_, entries = s.read(s.page)
	}
	_, key, _ := strings.Cut(entries[0].Loc, "/articles/")
	s.first = article(0)
	s.first.Key, s.first.URI = key, entries[0].Loc
}

func (s *sizedSet) get(path string) string {
	res := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(s.b.Context(), "GET", documents+s.Name()+"/"+path, nil)
	r.Header.Set("Accept-Encoding", "identity")
	s.src.ServeHTTP(res, r)
	return res.Body.String()
}

func (s *sizedSet) read(path string) (index bool, found []rsxml.Entry) {
	head, found, err := rsxml.Decode(strings.NewReader(s.get(path)))
	if err != nil || len(found) == 0 {
		s.b.Fatalf("%s: %d entries, %v", path, len(found), err)
	}
	return head.Index, found
}

// visible measures the time from the commit of a change until the document at path shows
// it. The document was read before.
func (s *sizedSet) visible(path string) {
	s.get(path)
	s.edits++
	length := 2_000_000_000 + s.edits
	s.first.Length = resourcesync.Bytes(length)
	err := s.host.transaction(s.b.Context(), func(tx *sql.Tx) error {
		return s.Record(s.b.Context(), SQLTx(tx), resourcesync.Change{Type: resourcesync.Updated, Resource: s.first})
	})
	if err != nil {
		s.b.Fatal(err)
	}
	committed := time.Now()
	for !strings.Contains(s.get(path), fmt.Sprint(length)) {
		if time.Since(committed) > time.Minute {
			s.b.Fatalf("%s does not show a change", path)
		}
		time.Sleep(time.Millisecond)
	}
	s.times[path] = append(s.times[path], time.Since(committed))
}

func (s *sizedSet) median(path string) time.Duration {
	slices.Sort(s.times[path])
	return s.times[path][len(s.times[path])/2]
}
