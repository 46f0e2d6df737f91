package sqltable

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// BenchmarkLink compares a GET of a listed resource through Source.Wrap, which adds the Link
// header, with the same handler alone, for a set in a store and for a table with a journal, in
// SQLite. Both get requests over one connection each, in turns of 500 requests for 100
// resources.
func BenchmarkLink(b *testing.B) {
	b.Run("set", func(b *testing.B) {
		d := sqliteDatabase(b)
		store := d.store()
		set, err := store.Set(b.Context(), "papers", nil)
		must(b, err)
		all := make([]resourcesync.Resource, hostRows)
		for i := range all {
			all[i] = resourcesync.Resource{Key: fmt.Sprintf("%08d", i), URI: fmt.Sprintf("https://example.org/papers/%d", i)}
		}
		_, err = set.Scan(b.Context(), func(yield func(resourcesync.Resource, error) bool) {
			for _, r := range all {
				if !yield(r, nil) {
					return
				}
			}
		})
		must(b, err)
		src, err := rshttp.New("https://example.org/rs/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Store: store, Logger: slog.New(slog.DiscardHandler)})
		must(b, err)
		ctx, stop := context.WithCancel(b.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- src.Run(ctx) }()
		b.Cleanup(func() { stop(); must(b, <-stopped) })
		compareLinks(b, src)
	})
	b.Run("table", func(b *testing.B) {
		h := newHosted(b, true)
		src, err := rshttp.New("https://example.org/rs/", []rshttp.Set{{Provider: h.papers}}, &rshttp.Options{Logger: slog.New(slog.DiscardHandler)})
		must(b, err)
		compareLinks(b, src)
	})
}

// compareLinks reports the medians of the turns.
func compareLinks(b *testing.B, src *rshttp.Source) {
	body := bytes.Repeat([]byte("<p>two kilobytes of a page</p>\n"), 66)
	app := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(body)
	})
	const requests, resources = 500, 100
	var took [2][]time.Duration
	var ask [2]func(linked bool)
	for i, handler := range []http.Handler{app, src.Wrap(app)} {
		server := httptest.NewServer(handler)
		b.Cleanup(server.Close)
		ask[i] = func(linked bool) {
			began := time.Now()
			for n := range requests {
				res, err := server.Client().Get(fmt.Sprintf("%s/papers/%d", server.URL, 1+n%resources))
				must(b, err)
				_, err = io.Copy(io.Discard, res.Body)
				must(b, err)
				must(b, res.Body.Close())
				if got := res.Header.Get("Link") != ""; got != linked {
					b.Fatalf("a Link header: %v, want %v", got, linked)
				}
			}
			took[i] = append(took[i], time.Since(began)/requests)
		}
	}
	for b.Loop() {
		ask[0](false)
		ask[1](true)
	}
	medians := [2]time.Duration{}
	for i, all := range took {
		slices.Sort(all)
		medians[i] = all[len(all)/2]
	}
	b.ReportMetric(float64(medians[0].Nanoseconds())/1e3, "µs/GET-alone")
	b.ReportMetric(float64((medians[1]-medians[0]).Nanoseconds())/1e3, "µs-more")
	b.ReportMetric(float64(medians[1])/float64(medians[0]), "wrapped/alone")
	b.ReportMetric(0, "ns/op")
}
