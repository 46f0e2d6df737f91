package virtualzip_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// zeros is content of any size that consists of zeros.
type zeros struct{ *io.SectionReader }

func newZeros(size int64) zeros { return zeros{io.NewSectionReader(zeroAt{}, 0, size)} }

func (zeros) Close() error { return nil }

type zeroAt struct{}

func (zeroAt) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	return len(p), nil
}

// at reads a package at offsets.
type at struct{ *virtualzip.Reader }

func (a at) ReadAt(p []byte, off int64) (int, error) {
	if _, err := a.Seek(off, io.SeekStart); err != nil {
		return 0, err
	}
	return io.ReadFull(a.Reader, p)
}

// TestZIP64 lays out entries of sizes, and at offsets, around 4 GiB, one of them in a
// sparse file. Only the small ones are read, because the others would have to be read
// completely to reach their ends.
func TestZIP64(t *testing.T) {
	sparse := filepath.Join(t.TempDir(), "sparse")
	if err := os.WriteFile(sparse, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sizes := []int64{math.MaxUint32 - 1, 5, math.MaxUint32, 6, math.MaxUint32 + 1, 7, 5 << 30, 8, 100_000}
	if err := os.Truncate(sparse, sizes[6]); err != nil {
		needs.Skip(t, err)
	}
	var s source
	var entries []virtualzip.Entry
	for i, size := range sizes {
		name := fmt.Sprintf("resources/%d", i)
		e := virtualzip.Entry{Name: name, Modified: when, Size: size, CRC32: 0xabcdef01,
			Open: func(context.Context) (io.ReadCloser, error) { return newZeros(size), nil }}
		switch {
		case size < 10:
			e = s.entry(name, []byte(strings.Repeat("x", int(size))), plain)
		case size < 1<<20: // more than what is read of the end of the package, to find the directory
			e = s.entry(name, make([]byte, size), plain)
		case i == 6:
			e.Open = func(context.Context) (io.ReadCloser, error) { return os.Open(sparse) }
		}
		entries = append(entries, e)
	}
	a := archive(t, entries...)
	r := a.NewReader(t.Context(), nil)
	defer r.Close()
	z, err := zip.NewReader(at{r}, a.Size())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "package.zip")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	end := int64(0) // of the content before
	for i, f := range z.File {
		start, err := f.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		if f.Name != entries[i].Name || f.UncompressedSize64 != uint64(sizes[i]) || f.CompressedSize64 != uint64(sizes[i]) || f.CRC32 != entries[i].CRC32 {
			t.Errorf("entry %d is %q of %d bytes", i, f.Name, f.UncompressedSize64)
		}
		if version := f.ReaderVersion; (version == 45) != (max(sizes[i], end) >= math.MaxUint32) {
			t.Errorf("entry %d at %d of %d bytes needs version %d", i, end, sizes[i], version)
		}
		header := int64(30 + len(f.Name) + 9)
		if sizes[i] >= math.MaxUint32 {
			header += 20 // the ZIP64 field, which archive/zip reads in the central directory only
		}
		if start-end != header {
			t.Errorf("entry %d of %d bytes has a header of %d", i, sizes[i], start-end)
		}
		content := sizes[i]
		if content >= 10 {
			content = 0
		} else if got := read(t, func(context.Context) (io.ReadCloser, error) { return f.Open() }); string(got) != strings.Repeat("x", int(sizes[i])) {
			t.Errorf("entry %d contains %q", i, got)
		}
		// Unwritten parts are zeros.
		copyRange(t, out, r, end, start+content)
		end = start + sizes[i]
		// Ranges into the following header, and across the end of small entries.
		b, before := make([]byte, 10), min(4, sizes[i])
		if sizes[i] >= 1<<20 {
			before = 0
		}
		if _, err := (at{r}).ReadAt(b, end-before); err != nil || !bytes.HasPrefix(b[before:], []byte("PK\x03\x04")) && !bytes.HasPrefix(b[before:], []byte("PK\x01\x02")) {
			t.Errorf("around the end of entry %d: %q, %v", i, b, err)
		}
	}
	copyRange(t, out, r, end, a.Size())

	for name, command := range map[string][]string{
		"unzip":   {"-p", path, "resources/1", "resources/3", "resources/5", "resources/7"},
		"bsdtar":  {"-xOf", path, "resources/1", "resources/3", "resources/5", "resources/7"},
		"python3": {"-c", pythonSmall, path},
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(t, name, command...); string(got) != strings.Repeat("x", 5+6+7+8) {
				t.Errorf("the small entries contain %q", got)
			}
		})
	}
	t.Run("zipinfo", func(t *testing.T) {
		got := strings.Fields(string(run(t, "unzip", "-Zt", path)))
		if want := fmt.Sprint(len(sizes)); got[0] != want {
			t.Errorf("zipinfo counts %q", got)
		}
	})
}

const pythonSmall = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    for i in z.infolist():
        with z.open(i) as f:
            if i.file_size < 10:
                sys.stdout.write(f.read().decode())
            else:
                assert f.read(1000) == bytes(1000)
`

// copyRange writes a range of a package to its place in a file.
func copyRange(t *testing.T, f *os.File, r *virtualzip.Reader, from, to int64) {
	t.Helper()
	seek(t, r, from, io.SeekStart, 0)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(f, r, to-from); err != nil {
		t.Fatal(err)
	}
}
