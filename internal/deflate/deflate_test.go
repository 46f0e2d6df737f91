package deflate

import (
	"bytes"
	"compress/flate"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"
)

// list returns a list of n entries, as a Resource List has them. Every other has
// values of other lengths.
func list(n int, r *rand.Rand) []byte {
	var b []byte
	for i := range n {
		kind, size := "application/pdf", 10_000_000+r.IntN(1_000_000)
		if i%2 == 0 {
			kind, size = "text/html", r.IntN(100_000)
		}
		b = fmt.Appendf(b, "<url>\n<loc>https://www.example.org/articles/%d/%x.html?a=1&amp;b=2</loc>\n<lastmod>2026-%02d-%02dT%02d:30:00Z</lastmod>\n<rs:md hash=\"md5:%016x%016x\" length=\"%d\" type=\"%s\"/>\n</url>\n",
			i, r.IntN(1<<20), 1+r.IntN(12), 1+r.IntN(28), r.IntN(24), r.Uint64(), r.Uint64(), size, kind)
	}
	return b
}

// compress compresses text in pieces of size bytes.
func compress(e *Encoder, text []byte, size int) []byte {
	var data []byte
	for len(text) > size {
		data = e.Append(data, text[:size])
		text = text[size:]
	}
	return e.AppendEnd(e.Append(data, text))
}

// inflate returns the text of data, and fails if it does not end with data.
func inflate(t testing.TB, data []byte) []byte {
	t.Helper()
	r := bytes.NewReader(data)
	text, err := io.ReadAll(flate.NewReader(r))
	if err != nil {
		t.Fatal(err)
	}
	if r.Len() > 0 {
		t.Fatalf("%d bytes after the end", r.Len())
	}
	return text
}

// texts are meant to reach every part of an encoder, by name.
func texts() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 40_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	// Counts like Fibonacci's numbers make codes that would be too long.
	var skewed []byte
	for a, b, c := 1, 1, byte('0'); len(skewed) < 200_000; a, b, c = b, a+b, c+1 {
		skewed = append(skewed, bytes.Repeat([]byte{c}, a)...)
	}
	r.Shuffle(len(skewed), func(i, j int) { skewed[i], skewed[j] = skewed[j], skewed[i] })
	out := map[string][]byte{
		"nothing":   nil,
		"a byte":    []byte("a"),
		"few":       []byte("<urlset/>\n"),
		"one byte":  bytes.Repeat([]byte{'<'}, 70_000),
		"all bytes": noise[:256],
		"noise":     noise,
		"skewed":    skewed,
		"list":      list(1000, r),
	}
	// Matches of every length about the greatest, and distances about theirs.
	for _, n := range []int{4, 5, 257, 258, 259, 260, 261, 262, 516, 517, 1000} {
		out[fmt.Sprintf("%d alike", n)] = append(append([]byte("<"), noise[:n]...), append([]byte("<"), noise[:n]...)...)
	}
	for _, n := range []int{maxDistance - 1, maxDistance, maxDistance + 1} {
		text := append(append([]byte("</loc>\n<lastmod>"), bytes.Repeat([]byte("0"), n-16)...), "</loc>\n<lastmod>"...)
		out[fmt.Sprintf("distance %d", n)] = text
		out[fmt.Sprintf("noise and distance %d", n)] = append(append([]byte("</loc>\n<lastmod>"), noise[:n-16]...), "</loc>\n<lastmod>"...)
	}
	return out
}

// TestInflate: what is inflated is what was compressed, in pieces of any size, by
// an encoder that has compressed something else before.
func TestInflate(t *testing.T) {
	var e Encoder
	for name, text := range texts() {
		for _, size := range []int{1 << 20, 65_536, 1000, 7} {
			data := compress(&e, text, size)
			if got := inflate(t, data); !bytes.Equal(got, text) {
				t.Errorf("%s, in pieces of %d: %d bytes, want %d", name, size, len(got), len(text))
			}
			if again := compress(new(Encoder), text, size); !bytes.Equal(again, data) {
				t.Errorf("%s, in pieces of %d: a new encoder has other data", name, size)
			}
		}
	}
}

// TestOthersInflate has what is compressed read by inflaters that are not Go's.
func TestOthersInflate(t *testing.T) {
	var e Encoder
	for _, tool := range [][]string{
		{"gzip", "-dc"},
		{"python3", "-c", "import sys, zlib; d = zlib.decompressobj(31); out = d.decompress(sys.stdin.buffer.read()); assert d.eof and not d.unused_data; sys.stdout.buffer.write(out)"},
	} {
		t.Run(tool[0], func(t *testing.T) {
			if _, err := exec.LookPath(tool[0]); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatal(err)
				}
				t.Skip(err)
			}
			for name, text := range texts() {
				zipped := append([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"), compress(&e, text, 65_536)...)
				for _, v := range []uint32{crc32.ChecksumIEEE(text), uint32(len(text))} {
					zipped = append(zipped, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
				}
				cmd := exec.Command(tool[0], tool[1:]...)
				cmd.Stdin = bytes.NewReader(zipped)
				got, err := cmd.Output()
				if err != nil || !bytes.Equal(got, text) {
					t.Errorf("%s: %d bytes, want %d: %v", name, len(got), len(text), err)
				}
			}
		})
	}
}

// TestSize: lists take little more than what a compressor for anything makes of
// them, and what cannot be compressed hardly more than it is.
func TestSize(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	text := list(10_000, r)
	var want bytes.Buffer
	w, _ := flate.NewWriter(&want, flate.BestSpeed)
	w.Write(text)
	w.Close()
	if got := len(compress(new(Encoder), text, 65_536)); got*100 > want.Len()*110 {
		t.Errorf("a list takes %d bytes, by compress/flate %d", got, want.Len())
	}
	noise := texts()["noise"]
	if got := len(compress(new(Encoder), noise, 65_536)); got*100 > len(noise)*105 {
		t.Errorf("%d bytes of noise take %d", len(noise), got)
	}
	if got := len(compress(new(Encoder), []byte("<urlset/>\n"), 65_536)); got > 14 {
		t.Errorf("10 bytes take %d", got)
	}
}

// TestAllocations: an encoder that has seen a piece allocates nothing for others.
func TestAllocations(t *testing.T) {
	text := list(200, rand.New(rand.NewPCG(5, 6)))
	var e Encoder
	data := compress(&e, text, len(text))
	if n := testing.AllocsPerRun(20, func() { data = e.AppendEnd(e.Append(data[:0], text)) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzInflate is TestInflate for any text, in two pieces.
func FuzzInflate(f *testing.F) {
	for _, text := range texts() {
		f.Add(text[:min(len(text), 2000)], len(text)/2)
	}
	var e Encoder
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		cut = max(0, min(cut, len(text)))
		data := e.AppendEnd(e.Append(e.Append(nil, text[:cut]), text[cut:]))
		if got := inflate(t, data); !bytes.Equal(got, text) {
			t.Fatalf("%q, want %q", got, text)
		}
	})
}

// BenchmarkAppend compresses a list of 15 MB in pieces of 64 KiB.
func BenchmarkAppend(b *testing.B) {
	text := list(50_000, rand.New(rand.NewPCG(7, 8)))
	var e Encoder
	var data []byte
	total := 0
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		total = 0
		for rest := text; len(rest) > 0; rest = rest[min(len(rest), 65_536):] {
			data = e.Append(data[:0], rest[:min(len(rest), 65_536)])
			total += len(data)
		}
	}
	b.ReportMetric(float64(len(text))/float64(total), "text/data")
}
