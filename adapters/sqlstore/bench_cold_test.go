package sqlstore

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// BenchmarkColdPage renders a document of a page of 50,000 resources, from the store to
// its compressed bytes, and the same document as Go programs usually do: database/sql
// with a row's columns, encoding/xml and compress/gzip.
func BenchmarkColdPage(b *testing.B) {
	benchEngines(b, func(b *testing.B, e engine) {
		const n = 50_000
		db, set := filled(b, e, n)
		host := newWriter(b, db)
		if err := host.usualTable(b.Context(), set); err != nil {
			b.Fatal(err)
		}
		source, err := rshttp.New("https://example.org/resourcesync/", []rshttp.Set{{Provider: set}}, &rshttp.Options{Division: rshttp.Division{PageSize: n}, Limits: rshttp.Limits{CacheBytes: -1}})
		if err != nil {
			b.Fatal(err)
		}
		request := httptest.NewRequest("GET", "/resourcesync/resourcelist.xml", nil)
		request.Header.Set("Accept-Encoding", "gzip")
		compare(b,
			func() {
				var w discard
				source.ServeHTTP(&w, request)
				if w.status != http.StatusOK || w.bytes < n {
					b.Fatal(w.status, w.bytes)
				}
			},
			func() {
				if err := host.usualDocument(b.Context(), io.Discard); err != nil {
					b.Fatal(err)
				}
			})
	})
}

// discard is a ResponseWriter that counts.
type discard struct {
	header http.Header
	status int
	bytes  int
}

func (d *discard) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}

func (d *discard) WriteHeader(status int) { d.status = status }

func (d *discard) Write(b []byte) (int, error) {
	if d.status == 0 {
		d.status = http.StatusOK
	}
	d.bytes += len(b)
	return len(b), nil
}

// usualTable copies a set into a table with a column for each field.
func (w *writer) usualTable(ctx context.Context, set *Set) error {
	_, err := w.db.ExecContext(ctx, "CREATE TABLE usual (key VARCHAR(1000) PRIMARY KEY, uri TEXT, lastmod TEXT, length BIGINT, type TEXT, hash TEXT)")
	if err != nil {
		return err
	}
	err = w.transaction(ctx, func(tx *sql.Tx) error {
		insert, err := tx.PrepareContext(ctx, "INSERT INTO usual (key, uri, lastmod, length, type, hash) VALUES ($1, $2, $3, $4, $5, $6)")
		if err != nil {
			return err
		}
		defer insert.Close()
		for r, err := range set.Resources(ctx, resourcesync.Range{}) {
			if err != nil {
				return err
			}
			length, _ := r.Length.Bytes()
			_, err = insert.ExecContext(ctx, r.Key, r.URI, r.LastModified.Format("2006-01-02T15:04:05Z"), length, r.Type, r.Hashes[0].String()+" "+r.Hashes[1].String())
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		// A server would soon do this by itself.
		_, err = w.db.ExecContext(ctx, "ANALYZE usual")
	}
	return err
}

type usualURL struct {
	XMLName xml.Name `xml:"url"`
	Loc     string   `xml:"loc"`
	LastMod string   `xml:"lastmod"`
	MD      struct {
		Hash   string `xml:"hash,attr"`
		Length int64  `xml:"length,attr"`
		Type   string `xml:"type,attr"`
	} `xml:"http://www.openarchives.org/rs/terms/ md"`
}

func (w *writer) usualDocument(ctx context.Context, to io.Writer) error {
	rows, err := w.db.QueryContext(ctx, "SELECT uri, lastmod, length, type, hash FROM usual ORDER BY key")
	if err != nil {
		return err
	}
	defer rows.Close()
	zip := gzip.NewWriter(to)
	enc := xml.NewEncoder(zip)
	for rows.Next() {
		var u usualURL
		if err := rows.Scan(&u.Loc, &u.LastMod, &u.MD.Length, &u.MD.Type, &u.MD.Hash); err != nil {
			return err
		}
		if err := enc.Encode(u); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return zip.Close()
}
