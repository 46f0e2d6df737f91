// Package bench compares the library with its peers. It is a module of its own,
// so that the peers stay out of the library's go.mod.
//
//	go -C bench test -bench .
package bench

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/snabb/sitemap"

	"github.com/resourcesync-go/resourcesync/rsxml"
)

const entries = 50_000

var modified = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func uri(i int) string { return fmt.Sprintf("https://example.org/repository/objects/%08d", i) }

// BenchmarkSitemap writes a plain sitemap of 50,000 entries with a URI and a
// time of modification each. Neither side is charged for making its entries.
func BenchmarkSitemap(b *testing.B) {
	b.Run("rsxml", func(b *testing.B) {
		list := make([]rsxml.Entry, entries)
		for i := range list {
			list[i] = rsxml.Entry{Loc: uri(i), LastMod: modified}
		}
		var head rsxml.Head
		var doc []byte
		for b.Loop() {
			doc = rsxml.AppendHead(doc[:0], &head)
			for i := range list {
				doc, _ = rsxml.AppendEntry(doc, &head, &list[i])
			}
			doc = rsxml.AppendTail(doc, &head)
		}
		b.SetBytes(int64(len(doc)))
		check(b, doc)
	})
	b.Run("snabb", func(b *testing.B) {
		list := sitemap.New()
		for i := range entries {
			list.Add(&sitemap.URL{Loc: uri(i), LastMod: &modified})
		}
		var doc bytes.Buffer
		for b.Loop() {
			doc.Reset()
			if _, err := list.WriteTo(&doc); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(doc.Len()))
		check(b, doc.Bytes())
	})
}

// check reads what was written: what is not right is not fast.
func check(b *testing.B, doc []byte) {
	b.Helper()
	_, list, err := rsxml.Decode(bytes.NewReader(doc))
	if err != nil || len(list) != entries || list[entries-1].Loc != uri(entries-1) || !list[0].LastMod.Equal(modified) {
		b.Fatalf("%d entries, %v", len(list), err)
	}
}
