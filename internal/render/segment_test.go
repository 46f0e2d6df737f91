package render

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// An item is an entry with its key.
type item struct {
	key     string
	version int
}

func (i item) entry() *rsxml.Entry {
	sum := sha256.Sum256(fmt.Append(nil, i.key, i.version))
	e := &rsxml.Entry{Loc: "https://example.org/" + i.key, LastMod: time.Unix(int64(i.version), 0)}
	e.Metadata.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%x", sum)}}
	if i.version%97 == 96 { // some are long, so that segments end by their size
		e.Loc += "?" + string(bytes.Repeat([]byte("x"), 5000))
	}
	return e
}

// in returns the items that are in r.
func in(items []item, r resourcesync.Range) []item {
	var some []item
	for _, i := range items {
		if r.Contains(i.key) {
			some = append(some, i)
		}
	}
	return some
}

func newBody() *Body {
	return &Body{Head: &rsxml.Head{Metadata: rsxml.Metadata{Capability: resourcesync.ResourceList, At: time.Unix(1e9, 0)}}}
}

// cold renders all of items.
func cold(t testing.TB, items []item) Text {
	b := newBody()
	defer b.Free()
	for _, i := range items {
		if !b.AddKey(i.key, i.entry()) {
			t.Fatal("too large")
		}
	}
	text, err := b.Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// plainOf returns the content that a client reads that knows only one gzip member, and
// checks it.
func plainOf(t testing.TB, text *Text) []byte {
	t.Helper()
	r := bytes.NewReader(text.Gzip)
	zr, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	zr.Multistream(false)
	plain, err := io.ReadAll(zr)
	if err != nil || r.Len() > 0 {
		t.Fatalf("%d bytes after the first member, %v", r.Len(), err)
	}
	if len(plain) != text.Size || crc32.ChecksumIEEE(plain) != text.CRC {
		t.Fatalf("%d bytes, want %d, or another checksum", len(plain), text.Size)
	}
	return plain
}

// TestSteps: after any changes, the reused and the rendered parts together equal a
// complete rendering, byte for byte.
func TestSteps(t *testing.T) {
	for seed := range uint64(needs.Size(6, 12)) { // six have all kinds of items and ranges
		rnd := rand.New(rand.NewPCG(seed, 12))
		key := func() string { return fmt.Sprintf("%06d", rnd.IntN(1_000_000)) }
		sorted := func(items []item) []item {
			slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.key, b.key) })
			return slices.CompactFunc(items, func(a, b item) bool { return a.key == b.key })
		}
		var items []item
		for range 3000 {
			items = append(items, item{key(), rnd.IntN(1000)})
		}
		items = sorted(items)
		if seed%3 == 0 { // no boundaries but by size
			items = slices.DeleteFunc(items, func(i item) bool { return isBoundary(i.key) })
		}
		before := cold(t, items)
		all := resourcesync.Range{}
		if seed%2 == 0 {
			all.From = "0"
			all.To = "~"
		}
		reused := 0
		for range 8 {
			var changed []resourcesync.Range
			for range rnd.IntN(4) {
				i := rnd.IntN(len(items))
				if rnd.IntN(2) == 0 { // the first of a segment
					i, _ = slices.BinarySearchFunc(items, before.Segments[rnd.IntN(len(before.Segments))].Key,
						func(i item, key string) int { return cmp.Compare(i.key, key) })
					i = min(i, len(items)-1)
				}
				at := items[i].key
				switch rnd.IntN(3) {
				case 0:
					items[i].version++
				case 1:
					items = slices.Delete(items, i, i+1)
				case 2:
					at = key()
					items = sorted(append(items, item{at, rnd.IntN(1000)}))
				}
				r := resourcesync.Range{From: at, To: at + "\x00"}
				if rnd.IntN(2) == 0 {
					r = resourcesync.Range{From: at[:4], To: at[:4] + "~"}
				}
				if rnd.IntN(10) == 0 {
					r.To = all.To
				}
				changed = append(changed, r)
			}
			changed = merge(changed)
			after := cold(t, items)
			if steps := before.Steps(all, changed); steps != nil {
				b := newBody()
				for _, s := range steps {
					if !s.Render {
						reused++
						b.Reuse(&before, s)
						continue
					}
					for _, i := range in(items, s.Keys) {
						b.AddKey(i.key, i.entry())
					}
				}
				again, err := b.Text()
				b.Free()
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(again.Gzip, after.Gzip) || again.Sum != after.Sum || again.CRC != after.CRC || again.Size != after.Size || !slices.Equal(again.Segments, after.Segments) {
					t.Fatalf("seed %d, changes in %q: another document", seed, changed)
				}
				plainOf(t, &again)
			}
			before = after
		}
		if reused == 0 {
			t.Errorf("seed %d: nothing was ever taken over", seed)
		}
	}
}

// merge returns the union of ranges in order.
func merge(ranges []resourcesync.Range) []resourcesync.Range {
	slices.SortFunc(ranges, func(a, b resourcesync.Range) int { return cmp.Compare(a.From, b.From) })
	var all []resourcesync.Range
	for _, r := range ranges {
		if n := len(all); n > 0 && (all[n-1].To == "" || r.From <= all[n-1].To) {
			if all[n-1].To != "" && (r.To == "" || r.To > all[n-1].To) {
				all[n-1].To = r.To
			}
			continue
		}
		all = append(all, r)
	}
	return all
}

// TestBoundaries: keys of all usual forms have about the same number of boundaries.
func TestBoundaries(t *testing.T) {
	const n = 50_000
	for _, form := range []string{"%d", "%[1]d0", "%08[1]x", "articles/%06[1]d.html", "%[1]d/index.html", "item/%[1]d/%[1]d.json", "%06[1]d/%06[1]d.pdf"} {
		found := 0
		for i := range n {
			if isBoundary(fmt.Sprintf(form, i)) {
				found++
			}
		}
		if want := n / boundaryEvery; found < want*3/4 || found > want*4/3 {
			t.Errorf("%d keys like %q have %d boundaries, want about %d", n, form, found, want)
		}
	}
}

// FuzzJoin: a document of segments of any size is one gzip member of their text.
func FuzzJoin(f *testing.F) {
	f.Add([]byte("head"), []byte("text"), []byte("tail"), uint8(3))
	f.Add([]byte{}, []byte{}, []byte("t"), uint8(1))
	f.Add(bytes.Repeat([]byte("h"), 200_000), bytes.Repeat([]byte("ab"), 100_000), []byte("tail"), uint8(7))
	f.Fuzz(func(t *testing.T, head, text, tail []byte, n uint8) {
		if len(tail) == 0 {
			return
		}
		want := slices.Clone(head)
		var pieces []*piece
		c := getCompressor()
		defer c.free()
		for i := range int(n) {
			part := text[:len(text)*i/max(1, int(n))]
			p := new(piece)
			c.compress(p, part, false)
			pieces = append(pieces, p)
			want = append(want, part...)
		}
		joined := join(head, pieces, tail)
		if got := plainOf(t, &joined); !bytes.Equal(got, append(want, tail...)) {
			t.Fatal("another text")
		}
	})
}

// TestClients: programs that read gzip can read a document of segments completely.
func TestClients(t *testing.T) {
	var items []item
	for i := range 20_000 {
		items = append(items, item{fmt.Sprintf("%06d", i), i % 1000})
	}
	text := cold(t, items)
	if len(text.Segments) < 20 {
		t.Fatalf("%d segments", len(text.Segments))
	}
	want := plainOf(t, &text)
	var written bytes.Buffer
	if err := text.WritePlain(&written); err != nil || !bytes.Equal(written.Bytes(), want) {
		t.Errorf("WritePlain: another text, %v", err)
	}
	file := t.TempDir() + "/list.xml.gz"
	if err := os.WriteFile(file, text.Gzip, 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(text.Gzip)))
		_, _ = w.Write(text.Gzip)
	}))
	defer server.Close()
	for _, args := range [][]string{
		{"gzip", "-dc", file},
		{"python3", "-c", "import gzip, sys; sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())", file},
		{"curl", "-sS", "--compressed", server.URL},
		{"wget", "-q", "--compression=auto", "-O", "-", server.URL},
	} {
		t.Run(args[0], func(t *testing.T) {
			out, err := exec.Command(needs.Program(t, args[0]), args[1:]...).Output()
			if err != nil || !bytes.Equal(out, want) {
				t.Errorf("%d bytes of %d, %v", len(out), len(want), err)
			}
		})
	}
}

// BenchmarkSegments compares a document of segments with the same text compressed as a
// whole, on one core.
func BenchmarkSegments(b *testing.B) {
	var items []item
	for i := range 50_000 {
		items = append(items, item{fmt.Sprintf("2026/article-%08d.html", i), i % 96})
	}
	text := cold(b, items)
	plain := plainOf(b, &text)
	whole, err := Compress(plain)
	if err != nil {
		b.Fatal(err)
	}
	var parts [][]byte
	rest := plain[len(rsxml.AppendHead(nil, newBody().Head)):]
	for i := range text.Segments {
		parts = append(parts, rest[:text.Segments[i].Size])
		rest = rest[text.Segments[i].Size:]
	}
	var best [2]time.Duration
	for b.Loop() {
		for i, f := range []func(){
			func() {
				if _, err := Compress(plain); err != nil {
					b.Fatal(err)
				}
			},
			func() {
				c := getCompressor()
				defer c.free()
				pieces := make([]*piece, len(parts))
				for i := range parts {
					pieces[i] = new(piece)
					c.compress(pieces[i], parts[i], false)
				}
				join([]byte("head"), pieces, []byte("tail"))
			},
		} {
			started := time.Now()
			f()
			if d := time.Since(started); best[i] == 0 || d < best[i] {
				best[i] = d
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(text.Gzip))/float64(len(whole.Gzip)), "bytes-ratio")
	b.ReportMetric(best[1].Seconds()/best[0].Seconds(), "time-ratio")
	b.ReportMetric(float64(len(text.Segments)), "segments")
}
