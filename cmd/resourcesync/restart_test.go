package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// documents returns the entity tag and the text of every document of the Source, by
// path.
func (s *served) documents() map[string]string {
	s.t.Helper()
	found := map[string]string{}
	add := func(url string) {
		res, body := s.get(url)
		if res.StatusCode != 200 || res.Header.Get("Etag") == "" {
			s.t.Fatalf("%s: %s %v", url, res.Status, res.Header)
		}
		found[s.key(url)] = res.Header.Get("Etag") + "\n" + body
	}
	add(s.site + ".well-known/resourcesync")
	add(s.site + "resourcesync/capabilitylist.xml")
	for capability, url := range s.capabilities() {
		if strings.HasSuffix(capability, "-notification") {
			continue // what was told last is told when it is told
		}
		add(url)
		for _, part := range s.document(url, capability).Parts {
			add(part.Loc)
		}
	}
	return found
}

// settle waits until the index of the Resource List shows the newest change. It is
// updated in the background.
func (s *served) settle() {
	s.t.Helper()
	changes := s.list("changelist")
	newest, err := time.Parse(time.RFC3339Nano, changes[len(changes)-1].Metadata.Datetime)
	must(s.t, err)
	s.until(fmt.Sprint("the index shows the change of ", newest), func() bool {
		at, err := time.Parse(time.RFC3339Nano, s.document(s.site+"resourcesync/resourcelist.xml", "resourcelist").Metadata.At)
		return err == nil && at.Equal(newest)
	})
}

// until waits until holds returns true.
func (s *served) until(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(needs.Patience); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("not true: %s\n%s", what, s.stderr)
		}
	}
}

// awaitChanges waits until the Change List has n entries, and returns it.
func (s *served) awaitChanges(n int) (got []string) {
	s.t.Helper()
	s.until(fmt.Sprintf("there are %d changes", n), func() bool {
		got = s.changes()
		return len(got) >= n
	})
	return got
}

// A process that is killed and restarted serves the same documents to the byte, and
// then publishes, once, each change that was made while it was down.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, newState := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for _, key := range []string{"a", "b", "c"} {
				write(t, filepath.Join(folder, key), key)
			}
			flags := []string{"--base-url", publicURL, "--state", newState(t), "--page-size", "2", "--rescan", "1h"}
			p := startProcess(t, folder, flags...)
			p.stdout.await(`Ready: 3 files`)
			var want []string
			for _, key := range []string{"d", "e", "f"} {
				p.write(key, key)
				want = append(want, "created "+key)
				p.awaitChanges(len(want))
			}
			p.settle()
			before := p.documents()
			p.kill()

			p = startProcess(t, folder, flags...)
			p.stdout.await(`Ready: 6 files`)
			for path, document := range p.documents() {
				if document != before[path] {
					t.Errorf("%s was\n%s\nis\n%s", path, before[path], document)
				}
			}
			p.kill()

			must(t, os.WriteFile(filepath.Join(folder, "a"), []byte("a, modified"), 0o644))
			must(t, os.Remove(filepath.Join(folder, "b")))
			p = startProcess(t, folder, flags...)
			p.stdout.await(`Ready: 6 files`)
			p.stderr.await("changes found.* created=0 updated=1 deleted=1")
			want = append(want, "updated a", "deleted b")
			if got := p.changes(); !slices.Equal(got, want) {
				t.Errorf("changes %q, want %q", got, want)
			}
			after := p.documents()
			closed := 0
			for path, document := range before {
				if strings.Contains(path, "/changelist/") && strings.Contains(document, " until=") {
					closed++
					if after[path] != document {
						t.Errorf("%s was\n%s\nis\n%s", path, document, after[path])
					}
				}
			}
			if closed == 0 {
				t.Errorf("no Change List is closed: %q", slices.Sorted(maps.Keys(before)))
			}
			must(t, p.Process.Signal(os.Interrupt))
			if err := p.Wait(); err != nil {
				t.Errorf("%v\n%s", err, p.stderr)
			}
		})
	}
}

// After random kills, every change has been published once.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	for name, newState := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 0))
			folder := t.TempDir()
			write(t, filepath.Join(folder, "first"), "")
			flags := []string{"--base-url", publicURL, "--state", newState(t), "--rescan", "1s"}
			p := startProcess(t, folder, flags...)
			p.stdout.await("Ready")
			var want []string
			for n := range needs.Size(2, 4) {
				for i := range 40 {
					key := fmt.Sprintf("%d%02d", n, i)
					p.write(key, key)
					want = append(want, "created "+key)
				}
				time.Sleep(time.Duration(random.Int64N(int64(250 * time.Millisecond))))
				p.kill()
				p = startProcess(t, folder, flags...)
				p.stdout.await("Ready")
			}
			got := p.awaitChanges(len(want))
			slices.Sort(got) // files are found in any order
			if !slices.Equal(got, want) {
				t.Errorf("changes\n%q\nwant\n%q", got, want)
			}
			if n := len(strings.Fields(p.listed())); n != len(want)+1 {
				t.Errorf("%d files are listed, want %d", n, len(want)+1)
			}
			p.kill()
		})
	}
}

// After a restart, unchanged files are not read again, even if the base URL has
// changed.
func TestNothingReadAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "large.bin"), strings.Repeat("0123456789abcdef", 3<<20/16))
	read := func(shown string, megabytes int) bool { // the totals are shown once they are known
		want := `1( of 1)? files(, 0 B of 3\.1 MB read)?`
		if megabytes > 0 {
			want = fmt.Sprintf(`1( of 1)? files, %d\.1 MB( of 3\.1 MB)? read`, megabytes)
		}
		return regexp.MustCompile(want + regexp.QuoteMeta(eraseLine) + "$").MatchString(shown)
	}
	if shown := scanOnce(t, true, folder); !read(shown, 3) {
		t.Errorf("first: %q", shown)
	}
	// A file that was just written is read once more, when its time is old enough to
	// show later changes.
	time.Sleep(2 * time.Second)
	scanOnce(t, true, folder)
	for _, base := range []string{publicURL, "http://elsewhere.example.org/x/"} {
		if shown := scanOnce(t, true, folder, "--base-url", base); !read(shown, 0) {
			t.Errorf("again, at %s: %q", base, shown)
		}
	}
}
