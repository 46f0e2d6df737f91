package rshttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// tool returns the path of a program that a test needs. On a developer's machine the
// test continues without it.
func tool(t testing.TB, name string) (path string, ok bool) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	if err != nil {
		t.Logf("not tried: %v", err)
	}
	return path, err == nil
}

// accept has the tools that people use read the whole package in a file, and compares
// the file with its checksums.
func accept(t testing.TB, file string) {
	t.Helper()
	for _, command := range [][]string{
		{"unzip", "-tqq", file},
		{"bsdtar", "-xOf", file},
		{"python3", "-c", "import sys, zipfile; sys.exit(zipfile.ZipFile(sys.argv[1]).testzip())", file},
	} {
		path, ok := tool(t, command[0])
		if !ok {
			continue
		}
		cmd := exec.Command(path, command[1:]...)
		var problems bytes.Buffer
		cmd.Stderr = &problems
		if err := cmd.Run(); err != nil {
			t.Errorf("%s of %s: %v %s", command[0], file, err, &problems)
		}
	}
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		if err != nil {
			t.Errorf("archive/zip: %s in %s: %v", f.Name, file, err)
		}
	}
}

// fetch downloads url into a file. It leaves out zeros, so that the file takes as
// little space as possible.
func fetch(t testing.TB, url string) (file string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	file = filepath.Join(t.TempDir(), "package.zip")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := io.CopyBuffer(struct{ io.Writer }{&holes{f: f}}, struct{ io.Reader }{res.Body}, make([]byte, 256<<10))
	if err == nil {
		err = f.Truncate(n)
	}
	if err != nil || n != res.ContentLength || res.StatusCode != 200 {
		t.Fatalf("%s: %s, %d bytes of %d: %v", url, res.Status, n, res.ContentLength, err)
	}
	return file
}

// holes writes to a file, but skips zeros.
type holes struct {
	f       *os.File
	at      int64
	nothing [256 << 10]byte
}

func (h *holes) Write(p []byte) (int, error) {
	at := h.at
	h.at += int64(len(p))
	if bytes.Equal(p, h.nothing[:len(p)]) {
		return len(p), nil
	}
	return h.f.WriteAt(p, at)
}

// TestPackagesAccepted: unzip -t, bsdtar, Python's zipfile and archive/zip accept every
// package, as served over HTTP. It contains the resources, and its manifest is valid
// and identical to the one that is served separately.
func TestPackagesAccepted(t *testing.T) {
	needs.Time(t)
	valid := func([]byte, bool) {}
	if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
		valid = validate(t, filepath.Join(shared, "schema"))
	}
	large := needs.Size(1500, 5000)
	sizes := []int{0, 1, 300, large} // the last in two packages at least, by their size
	if os.Getenv("RESOURCESYNC_LARGE") != "" {
		sizes = append(sizes, 70_000) // a manifest has 50,000 entries at most
	}
	for _, n := range sizes {
		s := newShelf(t)
		var all []resourcesync.Resource
		for i := range n {
			key := fmt.Sprintf("%06d.txt", i)
			content := noise(uint32(i), i%7)
			s.swap(key, content)
			all = append(all, describe(key, content))
		}
		if err := s.Put(t.Context(), all...); err != nil {
			t.Fatal(err)
		}
		o := &rshttp.Options{Division: rshttp.Division{PackageSize: int64(large) * 200}}
		if n > large {
			o = nil
		}
		src := newSource(t, o, rshttp.Set{Provider: s})
		srv := httptest.NewServer(src)
		entries, found := packages(t, src), 0
		if n >= large && len(entries) < 2 {
			t.Errorf("%d resources are in %d packages", n, len(entries))
		}
		for _, e := range entries {
			accept(t, fetch(t, srv.URL+pathOf(e)))
			contents := unpack(t, src, pathOf(e))
			for _, r := range all[found : found+len(contents)] {
				if contents[r.URI] != string(s.content[r.Key]) {
					t.Errorf("of %d: %s is not what it is", n, r.URI)
				}
			}
			found += len(contents)
			if n < 1000 {
				valid([]byte(text(t, get(t, src, manifestOf(e)))), false)
			}
		}
		if found != n {
			t.Errorf("%d resources in the packages of %d", found, n)
		}
		valid([]byte(text(t, get(t, src, dumpPath))), false)
		srv.Close()
	}
}

// TestChangePackagesAccepted does the same with the packages of a Change Dump, with
// patches in them.
func TestChangePackagesAccepted(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: mendedShelf(t)})
	srv := httptest.NewServer(src)
	defer srv.Close()
	for _, e := range changePackages(t, src) {
		accept(t, fetch(t, srv.URL+pathOf(e)))
		if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
			valid := validate(t, filepath.Join(shared, "schema"))
			valid([]byte(text(t, get(t, src, manifestOf(e)))), false)
			valid([]byte(text(t, get(t, src, changeDumpPath))), false)
		}
	}
}

// large is a set of two files, the first of which is nothing but zeros.
type large struct {
	path string
	size int64
}

func (l large) Resources(_ context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		first, second := resource("a.bin"), resource("b.txt")
		first.Length, second.Length = resourcesync.Bytes(l.size), resourcesync.Bytes(int64(len("behind it")))
		if r.Contains(first.Key) && !yield(first, nil) {
			return
		}
		if r.Contains(second.Key) {
			yield(second, nil)
		}
	}
}

func (l large) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if r.Key == "b.txt" {
		return io.NopCloser(bytes.NewReader([]byte("behind it"))), nil
	}
	return os.Open(l.path)
}

// TestLargePackageAccepted has a package of more than 4 GiB, with a sparse file in
// it. It takes half a minute, most of it in the tools, and runs only if
// RESOURCESYNC_LARGE is set.
func TestLargePackageAccepted(t *testing.T) {
	if os.Getenv("RESOURCESYNC_LARGE") == "" {
		t.Skip("RESOURCESYNC_LARGE is not set")
	}
	l := large{filepath.Join(t.TempDir(), "sparse"), math.MaxUint32 + 10<<20}
	if err := os.WriteFile(l.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(l.path, l.size); err != nil {
		t.Fatal(err)
	}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 8 << 30}}, rshttp.Set{Provider: l})
	srv := httptest.NewServer(src)
	defer srv.Close()
	for _, e := range packages(t, src) {
		file := fetch(t, srv.URL+pathOf(e))
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if length, _ := e.Metadata.Length.Bytes(); length != info.Size() || length < l.size {
			t.Errorf("%d bytes, %d stated", info.Size(), length)
		}
		accept(t, file)
		behind := get(t, src, pathOf(e), "Range", fmt.Sprintf("bytes=%d-%d", l.size, l.size+5000))
		if b := text(t, behind); behind.StatusCode != 206 || !bytes.Contains([]byte(b), []byte("behind it")) {
			t.Errorf("beyond 4 GiB: %s, %q", behind.Status, b)
		}
	}
}
