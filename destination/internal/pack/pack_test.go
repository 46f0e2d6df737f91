package pack

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
)

// archive returns a ZIP file with the entries that write writes.
func archive(t testing.TB, write func(*zip.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func add(w *zip.Writer, h zip.FileHeader, content string) {
	e, _ := w.CreateHeader(&h)
	io.WriteString(e, content)
}

func open(b []byte) (*Package, error) { return Open(bytes.NewReader(b), int64(len(b))) }

func read(p *Package, path string) (string, error) {
	r, err := p.Open(path)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := io.ReadAll(r)
	return string(text), err
}

// TestOpen reads entries by the paths in manifests, for all forms of names.
func TestOpen(t *testing.T) {
	b := archive(t, func(w *zip.Writer) {
		for _, name := range []string{"manifest.xml", "a/b", "./c", "/d", `e\f`, "../../etc/passwd", ".hidden", "a/"} {
			add(w, zip.FileHeader{Name: name, Method: zip.Deflate}, "text of "+name)
		}
		add(w, zip.FileHeader{Name: "stored"}, "stored")
		add(w, zip.FileHeader{Name: "a/b"}, "the second")
	})
	p, err := open(b)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/manifest.xml": "text of manifest.xml", "a/b": "text of a/b", "/a/b": "text of a/b", "c": "text of ./c", "/d": "text of /d",
		"/e/f": `text of e\f`, "/../../etc/passwd": "text of ../../etc/passwd", "/.hidden": "text of .hidden", "/stored": "stored",
	} {
		if got, err := read(p, path); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
	if _, err := read(p, "/none"); !errors.Is(err, ErrMissing) {
		t.Errorf("a missing entry: %v", err)
	}
}

// TestHostile refuses entries that are unreadable or too expensive.
func TestHostile(t *testing.T) {
	patched := func(b []byte, signature string, at int, value ...byte) []byte {
		b = bytes.Clone(b)
		i := bytes.LastIndex(b, []byte(signature))
		copy(b[i+at:], value)
		return b
	}
	text := strings.Repeat("text ", 1000)
	small := archive(t, func(w *zip.Writer) { add(w, zip.FileHeader{Name: "a", Method: zip.Deflate}, text) })
	bomb := archive(t, func(w *zip.Writer) {
		add(w, zip.FileHeader{Name: "a", Method: zip.Deflate}, strings.Repeat("\x00", 4<<20))
	})
	const uncompressed = 24
	for name, test := range map[string]struct {
		data []byte
		want error // nil: any
	}{
		"not a ZIP":           {[]byte(strings.Repeat("x", 1000)), zip.ErrFormat},
		"empty":               {nil, zip.ErrFormat},
		"truncated":           {small[:len(small)-30], zip.ErrFormat},
		"encrypted":           {patched(small, headerSignature, 8, 1, 0), ErrEncrypted},
		"unknown method":      {patched(small, headerSignature, 10, 99, 0), zip.ErrAlgorithm},
		"bomb":                {bomb, ErrExpands},
		"longer than stated":  {patched(small, headerSignature, uncompressed, 10, 0, 0, 0), nil},
		"shorter than stated": {patched(small, headerSignature, uncompressed, 0, 0, 1, 0), nil},
		"wrong checksum":      {patched(small, headerSignature, 16, 1, 2, 3, 4), zip.ErrChecksum},
		"overlapping":         {patched(small, headerSignature, 20, 0, 0, 16, 0), ErrOverlap},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := open(test.data)
			if err == nil {
				_, err = read(p, "a")
			}
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestDirectory checks the memory for directories that have, or announce, too many
// entries.
func TestDirectory(t *testing.T) {
	header := make([]byte, 46)
	copy(header, headerSignature)
	many := bytes.Repeat(header, 4*MaxEntries)
	end := make([]byte, 22)
	copy(end, "PK\x05\x06")
	binary.LittleEndian.PutUint32(end[12:], uint32(len(many)))

	end64 := make([]byte, 56)
	copy(end64, endSignature)
	binary.LittleEndian.PutUint64(end64[32:], 1<<40)
	locator := make([]byte, 20)
	copy(locator, "PK\x06\x07")
	locator[16] = 1
	end2 := bytes.Clone(end)
	binary.LittleEndian.PutUint16(end2[10:], math.MaxUint16)

	names := make([]byte, 46+math.MaxUint16)
	copy(names, headerSignature)
	binary.LittleEndian.PutUint16(names[28:], math.MaxUint16)
	long := bytes.Repeat(names, 1200)
	end3 := bytes.Clone(end)
	binary.LittleEndian.PutUint32(end3[12:], uint32(len(long)))

	for name, data := range map[string][]byte{
		"many":       append(many, end...),
		"announced":  bytes.Join([][]byte{end64, locator, end2}, nil),
		"long names": append(long, end3...),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := open(data); !errors.Is(err, ErrDirectory) {
				t.Errorf("got %v, want %v", err, ErrDirectory)
			}
			runtime.ReadMemStats(&after)
			if held := after.TotalAlloc - before.TotalAlloc; held > 250<<20 {
				t.Errorf("%d MiB were allocated", held>>20)
			}
		})
	}
}

// TestLargest opens a package with the maximum number of entries.
func TestLargest(t *testing.T) {
	b := archive(t, func(w *zip.Writer) {
		for i := range 70_000 { // more than a directory without ZIP64 can count
			add(w, zip.FileHeader{Name: fmt.Sprint(i)}, "x")
		}
	})
	p, err := open(b)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := read(p, "/69999"); got != "x" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(archive(f, func(w *zip.Writer) {
		add(w, zip.FileHeader{Name: Manifest, Method: zip.Deflate}, "<urlset/>")
		add(w, zip.FileHeader{Name: "a"}, "text")
	}), "/a")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		p, err := open(data)
		if err != nil {
			return
		}
		r, err := p.Open(path)
		if err != nil {
			return
		}
		defer r.Close()
		if n, _ := io.Copy(io.Discard, r); n > max(smallEntry, int64(len(data))*(maxRatio+1)) {
			t.Errorf("%d bytes became %d", len(data), n)
		}
	})
}
