package dir

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A meddler is a digest that calls a function while a file is read.
type meddler struct {
	hash.Hash
	meddle func()
}

func (m meddler) Write(p []byte) (int, error) {
	m.meddle()
	return m.Hash.Write(p)
}

// meddleWith makes d call meddle while it reads a file, the given number of times.
func meddleWith(d *Dir, times int, meddle func()) {
	d.concurrency = 1
	d.algorithms = []algorithm{{"sha-256", func() hash.Hash {
		return meddler{sha256.New(), func() {
			if times > 0 {
				times--
				meddle()
			}
		}}
	}}}
	d.readers = sync.Pool{New: func() any { return newReader(d.algorithms) }}
}

func TestFilesInFlux(t *testing.T) {
	body := strings.Repeat("a", 2*bufferSize)
	changes := map[string]func(path string) error{
		"grows":   func(path string) error { return appendTo(path, "more") },
		"shrinks": func(path string) error { return os.Truncate(path, 10) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			here := t.TempDir()
			path := filepath.Join(here, "a")
			write(t, here, "a", body)
			d := openDir(t, here, nil)
			var m memory
			known, _ := m.rescan(t, d)
			write(t, here, "a", body+"version 2")

			// It changes once, and is read again.
			meddleWith(d, 1, func() { must(t, change(path)) })
			now, _ := m.rescan(t, d)
			bytes, err := os.ReadFile(path)
			must(t, err)
			if got, want := now["a"].Hashes[0].Digest, fmt.Sprintf("%x", sha256.Sum256(bytes)); got != want {
				t.Errorf("the digest of %d bytes is %s, want %s", len(bytes), got, want)
			}
			if !isVersion(now["a"], &file{"a", "a", statOf(t, d, "a")}) || now["a"].Equal(known["a"]) {
				t.Errorf("%+v", now["a"])
			}
		})
	}
}

// TestFilesThatNeverHoldStill: files that change all the time keep their last recorded
// versions.
func TestFilesThatNeverHoldStill(t *testing.T) {
	here := t.TempDir()
	write(t, here, "log", "line 1\n")
	d := openDir(t, here, nil)
	var m memory
	known, _ := m.rescan(t, d)

	var log logbook
	d.log = log.logger()
	must(t, appendTo(filepath.Join(here, "log"), "line 2\n"))
	write(t, here, "upload", "first part\n")
	meddleWith(d, 1000, func() {
		must(t, appendTo(filepath.Join(here, "log"), "line\n"))
		must(t, appendTo(filepath.Join(here, "upload"), "part\n"))
	})
	now, _ := m.rescan(t, d)
	wantKeys(t, now, "log")
	if !now["log"].Equal(known["log"]) {
		t.Errorf("the log was %+v and is %+v", known["log"], now["log"])
	}
	if log.lines("dir: skipped") != 1 {
		t.Errorf("log: %s", &log.buf)
	}

	meddleWith(d, 0, nil)
	after, _ := m.rescan(t, d)
	wantKeys(t, after, "log upload")
}

// TestReplacedWhileRead renames another file over one that is being read. The content
// that was read is complete, but no longer current.
func TestReplacedWhileRead(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "one")
	d := openDir(t, here, nil)
	meddleWith(d, 1, func() {
		write(t, here, ".new", "two")
		must(t, os.Rename(filepath.Join(here, ".new"), filepath.Join(here, "a")))
	})
	var m memory
	m.rescan(t, d)
	found, _ := m.rescan(t, d)
	if want := fmt.Sprintf("%x", sha256.Sum256([]byte("two"))); found["a"].Hashes[0].Digest != want {
		t.Errorf("%+v", found["a"])
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func TestReadingAllocatesLittle(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", strings.Repeat("a", 10*bufferSize))
	d := openDir(t, here, &Options{Hashes: []string{"md5", "sha-256"}})
	r := newReader(d.algorithms)
	f, found, err := d.open("a")
	must(t, err)
	defer f.Close()
	s := scanRun{Dir: d}
	allocs := testing.AllocsPerRun(10, func() {
		c := content{copied: new(copying)}
		if _, err := f.Seek(0, 0); err != nil {
			t.Fatal(err)
		}
		if err := r.digest(t.Context(), f, found.status.size, &c, &s.bytes); err != nil {
			t.Fatal(err)
		}
	})
	// The slice of hashes, and per digest a sum and its text, but no buffer.
	if allocs > 8 {
		t.Errorf("%v allocations", allocs)
	}
}
