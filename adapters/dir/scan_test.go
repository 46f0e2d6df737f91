package dir

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

func TestResource(t *testing.T) {
	here := t.TempDir()
	big := strings.Repeat("0123456789abcdef", bufferSize/10)
	write(t, here, "papers/a b.PDF", big)
	modified := time.Date(2026, 11, 21, 10, 0, 0, 999_999_999, time.UTC)
	must(t, os.Chtimes(filepath.Join(here, "papers/a b.PDF"), modified, modified))
	d := openDir(t, here, &Options{Hashes: []string{"md5", "sha-256"}})

	got := complete(t, d)["papers/a b.PDF"]
	if got.Stamp == "" || strings.HasPrefix(got.Stamp, unsettledMark) {
		t.Errorf("stamp %q", got.Stamp)
	}
	want := resourcesync.Resource{
		Key:          "papers/a b.PDF",
		URI:          base + "papers/a%20b.PDF",
		LastModified: modified.Truncate(time.Second),
		Length:       resourcesync.Bytes(int64(len(big))),
		Type:         "application/pdf",
		Hashes: []resourcesync.Hash{
			{Algorithm: "md5", Digest: fmt.Sprintf("%x", md5.Sum([]byte(big)))},
			{Algorithm: "sha-256", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(big)))},
		},
		Stamp: got.Stamp,
	}
	if !got.Equal(want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestTypes(t *testing.T) {
	png := "\x89PNG\r\n\x1a\n"
	for name, test := range map[string]struct{ body, want string }{
		"index.html":      {"", "text/html"},
		"INDEX.HTM":       {"no markup", "text/html"},
		"data.tar.gz":     {"", "application/gzip"},
		"record.xml":      {"", "application/xml"},
		"really.txt":      {png, "text/plain"},
		"image":           {png, "image/png"},
		"image.unknown":   {png, "image/png"},
		"README":          {"words", "text/plain"},
		"nothing":         {"", "text/plain"},
		"bytes":           {"\x00\x01\x02", "application/octet-stream"},
		"late":            {strings.Repeat("a", sniffLen) + "\x00", "text/plain"},
		"early":           {strings.Repeat("a", sniffLen-1) + "\x00", "application/octet-stream"},
		"page":            {"<!DOCTYPE html><title>x</title>", "text/html"},
		"name.with.dots.": {"words", "text/plain"},
	} {
		t.Run(name, func(t *testing.T) {
			here := t.TempDir()
			write(t, here, name, test.body)
			for _, hashes := range [][]string{nil, {}} {
				if got := complete(t, openDir(t, here, &Options{Hashes: hashes}))[name].Type; got != test.want {
					t.Errorf("with hashes %q: %s, want %s", hashes, got, test.want)
				}
			}
		})
	}
}

func TestTypeTable(t *testing.T) {
	for extension, mediaType := range mediaTypes {
		if extension != strings.ToLower(extension) || extension[0] != '.' || strings.Count(extension, ".") != 1 {
			t.Errorf("no file has the extension %q", extension)
		}
		if strings.ContainsAny(mediaType, "; ") || strings.Count(mediaType, "/") != 1 {
			t.Errorf("%q is no media type", mediaType)
		}
	}
}

func TestWithoutHashes(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a.txt", "not read")
	write(t, here, "b", strings.Repeat("b", 10_000))
	var m memory
	d := openDir(t, here, &Options{Hashes: []string{}})
	found, read := m.rescan(t, d)
	if read != sniffLen {
		t.Errorf("read %d bytes, want %d", read, sniffLen)
	}
	for _, r := range found {
		if n, known := r.Length.Bytes(); len(r.Hashes) > 0 || !known || n == 0 || r.Type != "text/plain" {
			t.Errorf("%+v", r)
		}
	}
	if _, read := m.rescan(t, d); read != 0 {
		t.Errorf("read %d bytes again", read)
	}
}

func TestWhatIsListed(t *testing.T) {
	here := t.TempDir()
	for _, key := range []string{"a", "b/c", "b/d/e", ".dot", "b/.dot", ".git/config", "private/x", "b/private", "b/x.tmp"} {
		write(t, here, key, key)
	}
	must(t, os.MkdirAll(filepath.Join(here, "empty/empty"), 0o755))
	exclude := func(path string, isDir bool) bool {
		return path == "private" && isDir || strings.HasSuffix(path, ".tmp") && !isDir
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"default":  {Options{}, "a b/c b/d/e b/private b/x.tmp private/x"},
		"dotfiles": {Options{DotFiles: true}, ".dot .git/config a b/.dot b/c b/d/e b/private b/x.tmp private/x"},
		"exclude":  {Options{Exclude: exclude}, "a b/c b/d/e b/private"},
	} {
		t.Run(name, func(t *testing.T) {
			wantKeys(t, complete(t, openDir(t, here, &test.options)), test.want)
		})
	}
}

func TestUnchangedFilesAreNotReadAgain(t *testing.T) {
	here := t.TempDir()
	manyFiles(t, here, 50)
	write(t, here, "unknown type", "words")
	write(t, here, "empty", "")
	d := openDir(t, here, nil)
	var m memory
	first, read := m.rescan(t, d)
	if read == 0 {
		t.Fatal("the first scan reads nothing")
	}
	second, read := m.rescan(t, d)
	if read != 0 {
		t.Errorf("the second scan reads %d bytes", read)
	}
	if len(second) != len(first) {
		t.Errorf("the second scan finds %d of %d", len(second), len(first))
	}
	for key, r := range second {
		if !r.Equal(first[key]) {
			t.Errorf("%+v became %+v", first[key], r)
		}
	}

	// With other digests, all files are read.
	d.algorithms, _ = algorithmsOf([]string{"sha-256", "md5"})
	d.readers = sync.Pool{New: func() any { return newReader(d.algorithms) }}
	if found, read := m.rescan(t, d); read == 0 || len(found["empty"].Hashes) != 2 {
		t.Errorf("after a new choice of digests %d bytes are read", read)
	}
}

func TestChangesAreSeen(t *testing.T) {
	here := t.TempDir()
	for _, key := range []string{"stays", "grows", "goes", "moves", "f/old", "touched"} {
		write(t, here, key, "body of "+key)
	}
	d := openDir(t, here, nil)
	var m memory
	before, _ := m.rescan(t, d)

	write(t, here, "grows", "a longer body")
	must(t, os.Remove(filepath.Join(here, "goes")))
	must(t, os.Rename(filepath.Join(here, "moves"), filepath.Join(here, "moved")))
	must(t, os.Rename(filepath.Join(here, "f"), filepath.Join(here, "g")))
	write(t, here, "new", "n")
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(filepath.Join(here, "touched"), later, later))

	after, _ := m.rescan(t, d)
	wantKeys(t, after, "g/old grows moved new stays touched")
	if !after["stays"].Equal(before["stays"]) {
		t.Error("stays did not stay")
	}
	if after["grows"].Hashes[0] == before["grows"].Hashes[0] {
		t.Error("grows has its old digest")
	}
	if after["touched"].LastModified.Equal(before["touched"].LastModified) {
		t.Error("touched has its old time")
	}
	if after["moved"].Hashes[0] != before["moves"].Hashes[0] {
		t.Error("moved has another digest than before")
	}
}

// TestSameSizeSameTime edits a file and restores its size and modification time.
func TestSameSizeSameTime(t *testing.T) {
	edits := map[string]func(path string) error{
		"in place": func(path string) error { return os.WriteFile(path, []byte("two"), 0o644) },
		"replaced": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("two"), 0o644), os.Rename(path+".new", path))
		},
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			here := t.TempDir()
			path := filepath.Join(here, "a")
			write(t, here, "a", "one")
			d := openDir(t, here, nil)
			was := statOf(t, d, "a")
			if was.inode == 0 {
				t.Skip("this system reports neither change times nor inodes")
			}
			var m memory
			before, _ := m.rescan(t, d)
			// The clock of a file system ticks more slowly than this test runs.
			for same := true; same; same = statOf(t, d, "a").changed.Equal(was.changed) {
				must(t, edit(path))
				must(t, os.Chtimes(path, was.modified, was.modified))
			}
			after, read := m.rescan(t, d)
			if read != 3 || after["a"].Hashes[0] == before["a"].Hashes[0] {
				t.Errorf("the edit is not seen: %+v", after["a"])
			}
			if !after["a"].LastModified.Equal(before["a"].LastModified) {
				t.Error("the test did not restore the time")
			}
		})
	}
}

func statOf(t *testing.T, d *Dir, key string) status {
	t.Helper()
	in, name, err := d.locate(key)
	must(t, err)
	defer in.release()
	st, err := in.lstat(name)
	must(t, err)
	return st
}

// TestUnsettled: a file that is read so soon after its last change that another change
// could go unnoticed is read once more.
func TestUnsettled(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "one")
	d := openDir(t, here, nil)
	d.unsettled = time.Hour
	var m memory
	first, _ := m.rescan(t, d)
	if !strings.HasPrefix(first["a"].Stamp, unsettledMark) {
		t.Errorf("stamp %q of a file that has just changed", first["a"].Stamp)
	}
	f, err := d.Open(t.Context(), first["a"])
	must(t, err)
	f.Close()
	d.unsettled = 0
	second, read := m.rescan(t, d)
	if read != 3 || unsettledMark+second["a"].Stamp != first["a"].Stamp {
		t.Errorf("read %d bytes again, stamp %q then %q", read, first["a"].Stamp, second["a"].Stamp)
	}
	if _, read := m.rescan(t, d); read != 0 {
		t.Errorf("read %d bytes of a settled file", read)
	}
}

func TestScanKeepsTheContract(t *testing.T) {
	here := t.TempDir()
	manyFiles(t, here, 100)
	d := openDir(t, here, nil)
	seq := d.Resources(t.Context())
	for range 2 {
		n := 0
		for _, err := range seq {
			must(t, err)
			n++
		}
		if n != 100 {
			t.Errorf("found %d", n)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range d.Resources(ctx) {
		if last = err; err == nil {
			if n++; n == 5 {
				cancel()
			}
		}
	}
	if !errors.Is(last, context.Canceled) || n > 100 {
		t.Errorf("%d resources and %v after cancelling", n, last)
	}
	if found, err := listContext(t, ctx, d); !errors.Is(err, context.Canceled) {
		t.Errorf("%d resources and %v with a dead context", len(found), err)
	}
}

// TestStoppedScansAreSilent stops a scan while it requests the known resources.
func TestStoppedScansAreSilent(t *testing.T) {
	var log logbook
	here := t.TempDir()
	manyFiles(t, here, 2*batch)
	n := 0
	d := openDir(t, here, &Options{
		Logger: log.logger(),
	})
	d.known = func(ctx context.Context, keys []string) ([]resourcesync.Resource, error) {
		if n++; n > 1 {
			<-ctx.Done()
		}
		return make([]resourcesync.Resource, len(keys)), ctx.Err()
	}
	for range d.Resources(t.Context()) {
		break
	}
	if log.lines("msg=") > 0 {
		t.Errorf("log: %s", &log.buf)
	}
}

// TestScanStreams reads only as much of a large folder as its caller consumes, and
// leaves no goroutine behind, which the bubble would report.
func TestScanStreams(t *testing.T) {
	here := t.TempDir()
	for i := range 3 * batch {
		must(t, os.WriteFile(filepath.Join(here, fmt.Sprint(i)), nil, 0o644))
	}
	asked := 0
	d := openDir(t, here, &Options{
		Concurrency: 2,
	})
	d.known = func(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
		asked += len(keys)
		return make([]resourcesync.Resource, len(keys)), nil
	}
	synctest.Test(t, func(t *testing.T) {
		for _, err := range d.Resources(t.Context()) {
			must(t, err)
			break
		}
	})
	if asked > batch {
		t.Errorf("%d files were looked at for one resource", asked)
	}
}

func TestConcurrentScans(t *testing.T) {
	here := t.TempDir()
	manyFiles(t, here, 200)
	d := openDir(t, here, &Options{Hashes: []string{"md5", "sha-256"}, Concurrency: 3})
	want := complete(t, d)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for r, err := range d.Resources(t.Context()) {
				if err != nil || !r.Equal(want[r.Key]) {
					t.Errorf("%+v, %v", r, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestKnownFails(t *testing.T) {
	here := t.TempDir()
	manyFiles(t, here, 20)
	broken := errors.New("the store is gone")
	d := openDir(t, here, nil)
	d.known = func(context.Context, []string) ([]resourcesync.Resource, error) { return nil, broken }
	if found, err := list(t, d); len(found) != 0 || !errors.Is(err, broken) {
		t.Errorf("%d resources and %v", len(found), err)
	}
}

func TestVanishing(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "")
	write(t, here, "b/c", "")
	write(t, here, "d/e/f", "")
	d := openDir(t, here, nil)
	d.known = func(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
		// The first file and all that follow disappear.
		return make([]resourcesync.Resource, len(keys)), errors.Join(
			os.RemoveAll(filepath.Join(here, "a")), os.RemoveAll(filepath.Join(here, "b")), os.RemoveAll(filepath.Join(here, "d")))
	}
	wantKeys(t, complete(t, d), "")
}

// TestRootVanishes removes the folder itself, as when a volume is unmounted. That must
// not look as if every file had been deleted.
func TestRootVanishes(t *testing.T) {
	for name, lose := range map[string]func(root string) error{
		"removed": os.RemoveAll,
		"moved":   func(root string) error { return os.Rename(root, root+".old") },
		"replaced": func(root string) error {
			return errors.Join(os.Rename(root, root+".old"), os.Mkdir(root, 0o755))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := openLosable(t)
			must(t, lose(d.path))
			if found, err := list(t, d); err == nil {
				t.Errorf("found %v and no error", found)
			}
		})
	}
	t.Run("removed meanwhile", func(t *testing.T) {
		d := openLosable(t)
		d.known = func(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
			return make([]resourcesync.Resource, len(keys)), os.RemoveAll(d.path)
		}
		if found, err := list(t, d); err == nil {
			t.Errorf("found %v and no error", found)
		}
	})
}

// openLosable opens a folder that can be removed and moved.
func openLosable(t *testing.T) *Dir {
	if runtime.GOOS == "windows" {
		t.Skip("a folder that is open cannot be removed or moved")
	}
	root := filepath.Join(t.TempDir(), "root")
	write(t, root, "a", "")
	return openDir(t, root, nil)
}

func TestProgress(t *testing.T) {
	here := t.TempDir()
	manyFiles(t, here, 30)
	d := openDir(t, here, nil)
	found := complete(t, d)
	var size int64
	for _, r := range found {
		n, _ := r.Length.Bytes()
		size += n
	}
	if got := d.Progress(); got != (scan.Progress{Resources: 30, Bytes: size}) {
		t.Errorf("%+v", got)
	}
}

func TestLogsNeedNoUTF8(t *testing.T) {
	var log logbook
	d := openDir(t, t.TempDir(), &Options{Logger: log.logger()})
	(&scanRun{Dir: d, skips: d.skips.Begin()}).skip("\xff\n", errTooLong)
	if bytes.Count(log.buf.Bytes(), []byte("\n")) != 1 {
		t.Errorf("log: %q", &log.buf)
	}
}
