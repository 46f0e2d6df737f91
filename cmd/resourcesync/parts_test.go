package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestPartsUnderFire creates, changes and moves files, and renames and removes folders,
// while parts of the folder are scanned and processes are killed again and again. In the
// end, the list equals the folder, and the Change List leads from the first list to that
// state, with each change once.
func TestPartsUnderFire(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	kills, _ := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_KILLS"), strconv.Itoa(needs.Size(2, 3))))
	for _, tt := range []struct {
		state     string
		processes int
	}{{"sqlite", 1}, {"postgres", 1}, {"postgres", 3}} {
		t.Run(fmt.Sprint(tt.state, tt.processes), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			m := &mutator{t: t, random: rand.New(rand.NewPCG(seed, 0)), root: t.TempDir(), elsewhere: t.TempDir()}
			for range 50 {
				m.mutate()
			}
			first := hashesBelow(t, m.root)
			flags := []string{"--base-url", publicURL, "--state", states[tt.state](t), "--rescan", "1h", "--max-delete", "100%", "--status", "127.0.0.1:0"}
			running := make([]*process, tt.processes)
			for i := range running {
				running[i] = startProcess(t, m.root, flags...)
				running[i].stdout.await("Ready")
			}
			for range kills {
				for end := time.Now().Add(time.Duration(m.random.Int64N(int64(600 * time.Millisecond)))); time.Now().Before(end); {
					m.mutate()
				}
				i := m.random.IntN(len(running))
				running[i].kill()
				m.mutate()
				running[i] = startProcess(t, m.root, flags...)
				if m.random.IntN(2) == 0 {
					running[i].stdout.await("Ready")
				}
			}
			for _, p := range running {
				p.stdout.await("Ready")
			}
			for range 300 {
				m.mutate()
			}
			want := hashesBelow(t, m.root)
			p := running[0]
			listed := map[string]string{}
			t.Cleanup(func() { logDifference(t, listed, want) })
			p.until("the list is equal to the folder", func() bool {
				clear(listed)
				for _, e := range p.list("resourcelist") {
					listed[e.Loc] = e.Metadata.Hash
				}
				return maps.Equal(listed, want)
			})
			p.until("the changes lead to the folder", func() bool {
				return maps.Equal(replay(t, first, p.list("changelist")), want)
			})
			// Any difference that the other processes or a complete scan find now was
			// published before.
			published := len(p.list("changelist"))
			for _, other := range running {
				other.kill()
			}
			p = startProcess(t, m.root, flags...)
			p.until("the folder is scanned again", func() bool {
				_, s := p.toldOperators()
				return s.Scan != nil
			})
			if again := p.list("changelist"); len(again) != published {
				t.Errorf("published again: %v", again[published:])
			}
			p.kill()
		})
	}
}

// logDifference logs resources that are listed but should not be, and the reverse.
func logDifference(t *testing.T, listed, want map[string]string) {
	for uri, hash := range listed {
		if want[uri] != hash {
			t.Logf("listed: %s %s, in the folder: %q", uri, hash, want[uri])
		}
	}
	for uri := range want {
		if listed[uri] == "" {
			t.Logf("not listed: %s", uri)
		}
	}
}

// replay applies changes to a set, given as hashes by URI. None may repeat another.
func replay(t *testing.T, first map[string]string, changes []entry) map[string]string {
	set := maps.Clone(first)
	for _, c := range changes {
		before, listed := set[c.Loc]
		switch now := c.Metadata.Hash; c.Metadata.Change {
		case "created":
			if listed {
				t.Errorf("%s is created twice", c.Loc)
			}
			set[c.Loc] = now
		case "updated":
			if !listed || before == now {
				t.Errorf("%s is updated (listed: %t) from %s to %s", c.Loc, listed, before, now)
			}
			set[c.Loc] = now
		case "deleted":
			if !listed {
				t.Errorf("%s is deleted twice", c.Loc)
			}
			delete(set, c.Loc)
		}
	}
	return set
}

// hashesBelow returns the hashes of the files below root by URI.
func hashesBelow(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		key, _ := filepath.Rel(root, path)
		found[publicURL+filepath.ToSlash(key)] = "sha-256:" + hex.EncodeToString(sum[:])
		return err
	}))
	return found
}

// A mutator changes the files and folders below root.
type mutator struct {
	t         *testing.T
	random    *rand.Rand
	root      string
	elsewhere string // a folder on the same disk
	n         int
}

// mutate makes one change. Each version of a file is complete and different from all
// others. Some attempts fail, such as moving a folder into itself.
func (m *mutator) mutate() {
	m.n++
	var all, folders []string
	must(m.t, filepath.WalkDir(m.root, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			folders = append(folders, path)
		}
		all = append(all, path)
		return err
	}))
	one := func(of []string) string { return of[m.random.IntN(len(of))] }
	name := []string{"a", "b", "a-b", "a.txt", "a0", "c"}[m.random.IntN(6)]
	target := filepath.Join(one(folders), name)
	if info, err := os.Lstat(target); err == nil && info.IsDir() {
		target = filepath.Join(target, "file")
	}
	switch victim := one(all); m.random.IntN(8) {
	case 0, 1, 2:
		version := filepath.Join(m.elsewhere, "version")
		must(m.t, os.WriteFile(version, fmt.Append(nil, "version ", m.n), 0o644))
		os.Rename(version, target)
	case 3:
		must(m.t, os.MkdirAll(filepath.Join(m.elsewhere, "new"), 0o755))
		for i := range 10 {
			must(m.t, os.WriteFile(filepath.Join(m.elsewhere, "new", fmt.Sprint(i)), fmt.Append(nil, m.n, i), 0o644))
		}
		if os.Rename(filepath.Join(m.elsewhere, "new"), target) != nil {
			must(m.t, os.RemoveAll(filepath.Join(m.elsewhere, "new")))
		}
	case 4:
		os.Mkdir(target, 0o755)
	case 5, 6:
		if victim != m.root {
			os.Rename(victim, target)
		}
	case 7:
		if victim != m.root && (len(all) > 200 || !slices.Contains(folders, victim)) {
			must(m.t, os.RemoveAll(victim))
		}
	}
}
