package versions

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hashOf(content string) []resourcesync.Hash {
	sum := sha256.Sum256([]byte(content))
	return []resourcesync.Hash{{Algorithm: "md5", Digest: "00"}, {Algorithm: "sha-256", Digest: hex.EncodeToString(sum[:])}}
}

func change(content string) resourcesync.Change {
	return resourcesync.Change{Type: resourcesync.Updated, Resource: resourcesync.Resource{Key: "a", Hashes: hashOf(content)}}
}

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(path, time.Hour)
	must(t, err)
	return s
}

func keep(s *Store, content string) error {
	c, err := s.Create()
	if err != nil {
		return err
	}
	if _, err := io.WriteString(c, content); err != nil {
		return err
	}
	return c.Keep(hashOf(content))
}

func read(t testing.TB, s *Store, content string) (string, error) {
	t.Helper()
	f, err := s.OpenChange(t.Context(), change(content))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	must(t, err)
	return string(b), nil
}

// files returns the number of files in a folder and its subfolders.
func files(t testing.TB, path string) (n int) {
	t.Helper()
	must(t, filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	}))
	return n
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestKeep checks that exactly the kept copies exist, each once, also for later
// callers.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "versions")
	s := open(t, path)
	for range 2 {
		for _, content := range []string{"", "one", "two"} {
			must(t, keep(s, content))
		}
	}
	dropped, err := s.Create()
	must(t, err)
	_, err = io.WriteString(dropped, "three")
	must(t, err)
	dropped.Discard()
	killed, err := s.Create() // and the process is killed
	must(t, err)
	if open(t, path); !exists(killed.file.Name()) {
		t.Error("a copy that another process is making has been removed")
	}
	long := time.Now().Add(-25 * time.Hour)
	must(t, os.Chtimes(killed.file.Name(), long, long))
	for _, s := range []*Store{s, open(t, path)} {
		for _, content := range []string{"", "one", "two"} {
			if got, err := read(t, s, content); got != content || err != nil {
				t.Errorf("%q is %q, %v", content, got, err)
			}
		}
		if _, err := read(t, s, "three"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what was discarded: %v", err)
		}
	}
	if n := files(t, path); n != 3+1 { // and the file that says since when
		t.Errorf("%d files", n)
	}
	deleted := change("one")
	deleted.Type = resourcesync.Deleted
	for name, c := range map[string]resourcesync.Change{
		"a deletion":  deleted,
		"no hash":     {Resource: resourcesync.Resource{Key: "a"}},
		"an odd hash": {Resource: resourcesync.Resource{Key: "a", Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: "../../" + strings.Repeat("a", 58)}}}},
	} {
		if _, err := s.OpenChange(t.Context(), c); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := s.Create()
	must(t, err)
	if err := c.Keep(nil); err == nil || files(t, path) != 4 {
		t.Errorf("kept without a hash: %v", err)
	}
}

// TestPrune checks that copies are removed when no listed change needs them, and that
// Since reports this before.
func TestPrune(t *testing.T) {
	path := t.TempDir()
	s := open(t, path)
	begun, err := s.Since(t.Context())
	must(t, err)
	must(t, keep(s, "old"))
	must(t, keep(s, "needed again"))
	must(t, keep(s, "new"))
	age := func(content string, by time.Duration) {
		place, _ := s.pathOf(hashOf(content))
		then := time.Now().Add(-by)
		must(t, os.Chtimes(place, then, then))
	}
	age("old", 27*time.Hour)
	age("needed again", 27*time.Hour)
	must(t, keep(s, "needed again"))
	must(t, s.Prune(t.Context()))
	if since, _ := s.Since(t.Context()); !since.Equal(begun) || files(t, path) != 4 {
		t.Errorf("pruned at once: since %v", since)
	}
	must(t, s.writeSince(begun.Add(-5*time.Hour)))
	other := open(t, path) // that of another server
	must(t, s.Prune(t.Context()))
	if _, err := read(t, s, "old"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old copy: %v", err)
	}
	for _, content := range []string{"needed again", "new"} {
		if _, err := read(t, s, content); err != nil {
			t.Errorf("%s: %v", content, err)
		}
	}
	for _, s := range []*Store{s, other, open(t, path)} {
		if since, _ := s.Since(t.Context()); since.After(time.Now().Add(-time.Hour)) || since.Before(time.Now().Add(-2*time.Hour)) {
			t.Errorf("since %v", since)
		}
	}
}

// TestCannotKeep checks that a failure to keep a version is reported, and leaves no
// partial files.
func TestCannotKeep(t *testing.T) {
	path := t.TempDir()
	s := open(t, path)
	place, _ := s.pathOf(hashOf("one"))
	must(t, os.WriteFile(filepath.Dir(place), nil, 0o600)) // a file where the folder should be
	if err := keep(s, "one"); err == nil {
		t.Error("kept in a file")
	}
	if n := files(t, path); n != 2 {
		t.Errorf("%d files", n)
	}
	if _, err := Open(path, 0); err == nil {
		t.Error("kept for no time")
	}
	if _, err := Open(filepath.Join(path, sinceFile), time.Hour); err == nil {
		t.Error("opened a file")
	}
}

func TestConcurrent(t *testing.T) {
	s := open(t, t.TempDir())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, content := range []string{"one", "two", "three"} {
				if err := keep(s, content); err != nil {
					t.Error(err)
				}
				if got, err := read(t, s, content); got != content || err != nil {
					t.Errorf("%q is %q, %v", content, got, err)
				}
			}
			if err := s.Prune(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Link records its decisions: each change keeps its links.
func TestLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const retain = 90 * 24 * time.Hour
		path := filepath.Join(t.TempDir(), "versions")
		var began time.Time
		open := func(keep time.Duration) *Store {
			t.Helper()
			time.Sleep(time.Hour)
			s, err := Open(path, keep)
			if err != nil {
				t.Fatal(err)
			}
			linked, err := s.Link(retain)
			if err != nil || linked != (keep >= retain) {
				t.Fatalf("%v, %v", linked, err)
			}
			began = time.Now()
			time.Sleep(time.Hour)
			return s
		}
		before := time.Now()
		s := open(retain)
		changes := []time.Time{before, began.Add(time.Minute)} // the version before was not kept
		check := func(want ...bool) {
			t.Helper()
			for i, at := range changes {
				if got := s.Linked(at); got != want[i] {
					t.Errorf("change %d at %v: %v, want %v", i, at, got, want[i])
				}
			}
		}
		check(false, true)
		for _, keep := range []time.Duration{time.Hour, 2 * time.Hour, 2 * retain} {
			s = open(keep)
			changes = append(changes, began.Add(time.Minute))
			check([]bool{false, true, false, false, true}[:len(changes)]...)
		}
		unlinked, err := Open(filepath.Join(t.TempDir(), "versions"), time.Hour)
		if err != nil || !unlinked.Linked(before) {
			t.Errorf("without Link: %v", err)
		}
	})
}
