package virtualzip_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// TestArchive reads packages with archive/zip.
func TestArchive(t *testing.T) {
	var s source
	many := make([]virtualzip.Entry, 70_000)
	for i := range many {
		many[i] = s.entry(fmt.Sprintf("resources/%05d.txt", i), []byte(fmt.Sprint(i)), plain)
	}
	for name, entries := range map[string][]virtualzip.Entry{
		"none":        nil,
		"one":         {s.entry("a.txt", []byte("one"), plain)},
		"one, empty":  {s.entry("a.txt", nil, plain)},
		"only empty":  {s.entry("a", nil, plain), s.entry("b", nil, seeker), literal("c", nil)},
		"not ASCII":   {s.entry("resources/論文/é.txt", []byte("é"), plain)},
		"long name":   {s.entry(strings.Repeat("folder/", 9000)+"a", []byte("long"), plain)},
		"literal":     {literal("manifest.xml", []byte("<urlset/>")), s.entry("resources/a", random(1, 100_000), halting)},
		"many, ZIP64": many,
	} {
		t.Run(name, func(t *testing.T) {
			b := whole(t, archive(t, entries...))
			z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
			if err != nil {
				t.Fatal(err)
			}
			if len(z.File) != len(entries) {
				t.Fatalf("%d entries, not %d", len(z.File), len(entries))
			}
			for i, f := range z.File {
				if i%stepIn(len(entries)) == 0 {
					want := read(t, entries[i].Open)
					if got := read(t, func(context.Context) (io.ReadCloser, error) { return f.Open() }); !bytes.Equal(got, want) {
						t.Fatalf("entry %q has other content", f.Name)
					}
				}
				ascii := strings.IndexFunc(f.Name, func(r rune) bool { return r > '~' }) < 0
				switch {
				case f.Name != entries[i].Name:
					t.Errorf("name %q, not %q", f.Name, entries[i].Name)
				case f.Method != zip.Store || f.Flags&0x8 != 0:
					t.Errorf("entry %q: method %d, flags %x", f.Name, f.Method, f.Flags)
				case (f.Flags&0x800 != 0) == ascii:
					t.Errorf("entry %q: flags %x", f.Name, f.Flags)
				case !f.Modified.Equal(entries[i].Modified) && !entries[i].Modified.IsZero():
					t.Errorf("entry %q: modified %v", f.Name, f.Modified)
				case f.Mode() != 0o644:
					t.Errorf("entry %q: mode %v", f.Name, f.Mode())
				}
			}
		})
	}
	if s.open.Load() != 0 || s.most.Load() > 1 {
		t.Errorf("%d entries left open, %d open at once", s.open.Load(), s.most.Load())
	}
}

func read(tb testing.TB, open func(context.Context) (io.ReadCloser, error)) []byte {
	tb.Helper()
	r, err := open(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func TestModified(t *testing.T) {
	for _, tt := range []struct{ modified, want time.Time }{
		{time.Time{}, time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(1975, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)},
		{time.Date(2026, 3, 1, 12, 30, 15, 999, time.UTC), time.Date(2026, 3, 1, 12, 30, 15, 0, time.UTC)},
		{time.Date(2026, 3, 1, 12, 30, 15, 0, time.FixedZone("", 9*3600)), time.Date(2026, 3, 1, 3, 30, 15, 0, time.UTC)},
		{time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC), time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC)},
		{time.Date(2038, 1, 19, 3, 14, 9, 0, time.UTC), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC)}, // in steps of two seconds
		{time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2107, 12, 31, 23, 59, 58, 0, time.UTC)},
	} {
		e := literal("a", nil)
		e.Modified = tt.modified
		b := whole(t, archive(t, e))
		z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		if got := z.File[0].Modified; !got.Equal(tt.want) {
			t.Errorf("modified %v becomes %v, not %v", tt.modified, got, tt.want)
		}
		if got := z.File[0].ModTime(); !got.Equal(tt.want.Truncate(2 * time.Second)) {
			t.Errorf("modified %v becomes %v in MS-DOS terms", tt.modified, got)
		}
	}
}

func TestNewErrors(t *testing.T) {
	open := func(context.Context) (io.ReadCloser, error) { return nil, errors.New("opened by New") }
	for _, e := range []virtualzip.Entry{
		{Name: ""}, {Name: "."}, {Name: "/a"}, {Name: "a/"}, {Name: "a//b"}, {Name: "../a"}, {Name: "a/./b"},
		{Name: `a\b`}, {Name: "a\xff"}, {Name: strings.Repeat("a", 1<<16)}, {Name: "twice"},
		{Name: "negative", Size: -1, Open: open}, {Name: "huge", Size: 1<<45 + 1, Open: open}, {Name: "overflow", Size: math.MaxInt64, Open: open},
	} {
		_, err := virtualzip.New(list(virtualzip.Entry{Name: "twice"}, e))
		if ee, ok := errors.AsType[*virtualzip.EntryError](err); !ok || ee.Name != e.Name {
			t.Errorf("entry %.20q: error %.80v", e.Name, err)
		}
	}
	failed := errors.New("failed")
	if _, err := virtualzip.New(func(yield func(virtualzip.Entry, error) bool) {
		_ = yield(virtualzip.Entry{Name: "a"}, nil) && yield(virtualzip.Entry{}, failed)
	}); err != failed {
		t.Errorf("the error of entries becomes %v", err)
	}
}

// TestVersion also checks that the same list gives the same bytes.
func TestVersion(t *testing.T) {
	var s source
	base := func() []virtualzip.Entry {
		return []virtualzip.Entry{
			literal("manifest.xml", []byte("plumless")),
			s.entry("a", []byte("aaa"), plain),
			s.entry("b", []byte("bbb"), plain),
		}
	}
	one, again := archive(t, base()...), archive(t, base()...)
	if one.Version() != again.Version() || !bytes.Equal(whole(t, one), whole(t, again)) {
		t.Error("the same list gives two packages")
	}
	// Replicas built with different releases of Go should give the same bytes. If a
	// release changes this, downloads merely start over.
	if v := one.Version(); v != "3bdbc65515780ac5370b2cf434197460" {
		t.Errorf("the version is now %s", v)
	}
	moved := base()
	moved[1].Modified = when.In(time.FixedZone("", 3600))
	moved[2].Open = s.opener([]byte("bbb"), seeker)
	if archive(t, moved...).Version() != one.Version() {
		t.Error("the version depends on the time zone, or on Open")
	}
	seen := map[string]string{one.Version(): "the original"}
	for name, change := range map[string]func(e []virtualzip.Entry){
		"name":  func(e []virtualzip.Entry) { e[1].Name = "c" },
		"size":  func(e []virtualzip.Entry) { e[1].Size++ },
		"sum":   func(e []virtualzip.Entry) { e[2].CRC32++ },
		"time":  func(e []virtualzip.Entry) { e[2].Modified = when.Add(time.Second) },
		"order": func(e []virtualzip.Entry) { slices.Reverse(e) },
		"empty": func(e []virtualzip.Entry) { e[2] = virtualzip.Entry{Name: "b", Modified: when} },
	} {
		entries := base()
		change(entries)
		v := archive(t, entries...).Version()
		if other, ok := seen[v]; ok {
			t.Errorf("%s has the version of %s", name, other)
		}
		seen[v] = name
	}
}

func TestChecksum(t *testing.T) {
	for _, n := range []int{0, 1, 256 << 10, 600_001} {
		content := random(3, n)
		for _, r := range []io.Reader{bytes.NewReader(content), iotest.DataErrReader(iotest.HalfReader(bytes.NewReader(content)))} {
			size, sum, err := virtualzip.Checksum(t.Context(), r)
			if err != nil || size != int64(n) || sum != crc32.ChecksumIEEE(content) {
				t.Errorf("Checksum of %d bytes: %d, %08x, %v", n, size, sum, err)
			}
		}
	}
	failing := io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(errFailed))
	if _, _, err := virtualzip.Checksum(t.Context(), failing); !errors.Is(err, errFailed) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := virtualzip.Checksum(ctx, bytes.NewReader(random(4, 1000))); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

var errFailed = errors.New("failed")
