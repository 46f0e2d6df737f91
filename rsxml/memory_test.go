package rsxml

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// stringsOf returns all strings of an entry.
func stringsOf(e *Entry) []string {
	all := []string{e.Loc, e.ChangeFreq, e.Metadata.Type, e.Metadata.Path, e.Metadata.Encoding, string(e.Metadata.Change), string(e.Metadata.Capability)}
	for _, h := range e.Metadata.Hashes {
		all = append(all, h.Algorithm, h.Digest)
	}
	for _, l := range e.Links {
		all = append(all, l.Rel, l.Href, l.Type, l.Path)
	}
	return all
}

// TestMemoryOfStrings keeps all strings of a few entries of a document of 10 MB, and holds that they
// keep no other entries and no buffer in memory: those in the common form and others.
func TestMemoryOfStrings(t *testing.T) {
	const count, every, size = 1000, 100, 10_000
	for name, space := range map[string]string{"common form": "", "encoding/xml": " "} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			go func() {
				fmt.Fprint(w, `<urlset xmlns="`+SitemapNS+`" xmlns:rs="`+TermsNS+`"><rs:md capability="changedump-manifest" from="2025-01-01T00:00:00Z"/>`)
				filler := strings.Repeat("f", size)
				for i := range count {
					fmt.Fprintf(w, `<url%s><loc>https://example.org/%[2]d</loc><changefreq>daily</changefreq><rs:md change="created" hash="md5:%032[2]x sha-256:%064[2]x" path="/%[2]d" type="text/plain"/><rs:ln rel="describedby" href="https://example.org/%[2]d/%[3]s"/></url>`, space, i, filler)
				}
				fmt.Fprint(w, "</urlset>")
				w.Close()
			}()
			heap := func() uint64 {
				runtime.GC()
				runtime.GC()
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := heap()
			var kept []string
			n := 0
			for e, err := range NewDecoder(r).Entries() {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n%every == 0 {
					kept = append(kept, stringsOf(&e)...)
				}
			}
			if n != count || len(kept) != count/every*15 {
				t.Fatalf("%d entries, %d strings", n, len(kept))
			}
			after := heap()
			if limit := uint64(count / every * size * 4); after > before+limit {
				t.Errorf("the strings of %d entries keep %d bytes in memory, more than %d", count/every, after-before, limit)
			}
			runtime.KeepAlive(kept)
		})
	}
}

// TestHashesAreApart appends to the hashes of an entry without changing the hashes of another one.
func TestHashesAreApart(t *testing.T) {
	var b strings.Builder
	b.WriteString(resourceList)
	for i := range 100 {
		fmt.Fprintf(&b, `<url><loc>b:%d</loc><rs:md hash="%s"/></url>`, i, strings.TrimSpace(strings.Repeat(fmt.Sprintf("md5:%d ", i), i%20+1)))
	}
	b.WriteString("</urlset>")
	_, entries, err := Decode(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range entries {
		_ = append(entries[i].Metadata.Hashes, resourcesync.Hash{Algorithm: "x", Digest: "y"})
	}
	for i, e := range entries {
		if len(e.Metadata.Hashes) != i%20+1 {
			t.Fatalf("entry %d has %d hashes", i, len(e.Metadata.Hashes))
		}
		for _, h := range e.Metadata.Hashes {
			if want := (resourcesync.Hash{Algorithm: "md5", Digest: fmt.Sprint(i)}); h != want {
				t.Fatalf("entry %d has the hash %v, want %v", i, h, want)
			}
		}
	}
}

// TestDecodeAllocations decodes a list of 50,000 entries with two hashes each in 60,000 allocations.
func TestDecodeAllocations(t *testing.T) {
	resources := benchResources()
	h := Head{Metadata: Metadata{Capability: resourcesync.ResourceList, At: resources[len(resources)-1].LastModified}}
	entries := make([]Entry, len(resources))
	for i := range resources {
		entries[i].SetResource(&resources[i])
	}
	data := encode(h, entries)
	n := testing.AllocsPerRun(1, func() {
		for _, err := range NewDecoder(bytes.NewReader(data)).Entries() {
			if err != nil {
				t.Fatal(err)
			}
		}
	})
	if n > 60_000 {
		t.Errorf("%v allocations", n)
	}
}
