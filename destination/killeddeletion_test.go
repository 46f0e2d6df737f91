package destination_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestKilledDeletion kills a process while it deletes copies, one of them edited and one replaced by
// a folder by the user: before each of its operations, or each third one in everyday runs. After the kill, the
// user puts files in the free places. They stay, and the other copies are deleted.
func TestKilledDeletion(t *testing.T) {
	needs.Time(t)
	names := []string{"a", "b/c", "b/d", "edited", "folder"}
	placed := 0
	for at, last := 1, false; !last; at += needs.Size(3, 1) {
		src := newSource(t, nil)
		src.put(t, "stays", "text")
		for _, name := range names {
			src.put(t, name, "text of "+name)
		}
		m := openMirror(t, src.URL, t.TempDir(), nil)
		m.sync(t)
		m.close()
		writeFile(t, filepath.Join(m.dir, "edited"), "an edited text")
		want := map[string]string{"stays": "text", "folder/": "", "folder/mine": "mine"}
		if err := os.Remove(filepath.Join(m.dir, "folder")); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(m.dir, "folder/mine"), "mine")
		for _, name := range names {
			src.remove(name)
		}
		killed, n := openKilled(t, src.URL, m.dir, at)
		if killed != nil {
			_, err := killed.Sync(t.Context())
			last = err == nil && *n < at
			killed.close()
		}
		for _, name := range names {
			file := filepath.Join(m.dir, filepath.FromSlash(name))
			if _, err := os.Lstat(file); err == nil {
				continue
			}
			writeFile(t, file, "mine, "+name)
			want[name] = "mine, " + name
			if dir := filepath.Dir(name); dir != "." {
				want[dir+"/"] = ""
			}
			placed++
		}
		m = openMirror(t, src.URL, m.dir, nil)
		for range 2 {
			if r := m.sync(t); r.Failed != 0 {
				t.Errorf("killed at %d: %+v", at, r)
			}
		}
		if got := everything(t, m.dir); !maps.Equal(got, want) {
			t.Errorf("killed at %d: got %v, want %v", at, got, want)
		}
		m.close()
	}
	if placed < 2*len(names) {
		t.Errorf("only %d files were put in free places", placed)
	}
}
