package destination_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// damage returns ways to damage the state of a copy.
var damage = map[string]func(t *testing.T, state string){
	"not a database": func(t *testing.T, state string) {
		text, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, state, strings.Repeat("?", len(text)))
	},
	"pages": func(t *testing.T, state string) {
		text, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, state, string(text[:4096])+strings.Repeat("?", len(text)-4096))
	},
	"cut": func(t *testing.T, state string) {
		if err := os.Truncate(state, 20_000); err != nil {
			t.Fatal(err)
		}
	},
}

// rebuild rebuilds the state of a copy.
func rebuild(t *testing.T, url, dir string, o destination.Options) *destination.Report {
	t.Helper()
	folder, err := destination.AdoptFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	o.Rebuild, o.Logger = true, slog.New(slog.DiscardHandler)
	d, err := destination.New(url, folder, &o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := d.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRebuild has a damaged state, and files that are not as the Source has them. Without a request,
// the others are adopted.
func TestRebuild(t *testing.T) {
	for name, damage := range damage {
		t.Run(name, func(t *testing.T) {
			src := newSource(t, nil)
			for i := range 200 {
				src.put(t, fmt.Sprintf("a/%d", i), fmt.Sprint("text ", i))
			}
			src.put(t, "edited", "text")
			src.put(t, "lost", "text")
			dir := t.TempDir()
			m := openMirror(t, src.URL, dir, nil)
			m.sync(t)
			m.close()
			writeFile(t, filepath.Join(dir, "edited"), "mine")
			writeFile(t, filepath.Join(dir, "of no resource"), "mine, too")
			if err := os.Remove(filepath.Join(dir, "lost")); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dir, ".resourcesync/state.db"))
			src.put(t, "a/7", "changed")
			src.put(t, "new", "text")

			folder, err := destination.OpenFolder(dir)
			if err != nil {
				t.Fatal(err)
			}
			d, err := destination.New(src.URL, folder, &destination.Options{Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				_, err = d.Sync(t.Context())
				d.Close()
			}
			folder.Close()
			if err == nil || !strings.Contains(err.Error(), "is damaged") || !strings.Contains(err.Error(), "--rebuild") {
				t.Fatalf("a damaged state: %v", err)
			}

			src.requested("")
			r := rebuild(t, src.URL, dir, destination.Options{})
			if r.Adopted != 199 || r.Created != 2 || r.Failed != 2 {
				t.Errorf("%+v", r)
			}
			if !strings.Contains(fmt.Sprint(r.Failures), filepath.Join(dir, "edited")+" has different content than the Source; move it elsewhere, or") {
				t.Errorf("%+v", r.Failures)
			}
			if n := src.requested("/a/") + src.requested("/edited"); n > 0 {
				t.Errorf("%d requests for contents", n)
			}
			if kept, _ := filepath.Glob(filepath.Join(dir, ".resourcesync/state.db.damaged-*Z")); len(kept) != 1 {
				t.Errorf("the damaged state is not kept: %v", kept)
			}
			got := files(t, dir)
			if got["edited"] != "mine" || got["of no resource"] != "mine, too" || got["a/7"] != "text 7" || len(got) != 204 {
				t.Errorf("%d files, %q, %q", len(got), got["edited"], got["of no resource"])
			}

			r = rebuild(t, src.URL, dir, destination.Options{Replace: true})
			if r.Adopted != 0 || r.Created != 2 || r.Failed != 0 || r.Resources != 203 {
				t.Errorf("with Replace: %+v", r)
			}
			if got := files(t, dir); got["of no resource"] != "mine, too" {
				t.Errorf("the file of no resource: %q", got["of no resource"])
			}
			if err := os.Remove(filepath.Join(dir, "of no resource")); err != nil {
				t.Fatal(err)
			}
			src.same(t, dir)
			m = openMirror(t, src.URL, dir, nil)
			src.requested("")
			if r := m.sync(t); r.Created+r.Updated+r.Failed > 0 || src.requested("/a/") > 0 {
				t.Errorf("afterwards: %+v", r)
			}
			src.remove("a/1")
			if r := m.sync(t); r.Deleted != 1 {
				t.Errorf("afterwards: %+v", r)
			}
		})
	}
}

// TestRebuildWithoutHashes has entries without hashes: what is at a place is compared with the content,
// which is requested unless the length differs. The folder with the state is lost.
func TestRebuildWithoutHashes(t *testing.T) {
	pages := withoutChanges(openURLSet + `<rs:md capability="resourcelist"/>
<url><loc>BASE/a</loc></url><url><loc>BASE/b</loc></url><url><loc>BASE/d</loc><rs:md length="1000"/></url></urlset>`)
	pages["/b"], pages["/d"] = "b", strings.Repeat("d", 1000)
	_, url := newScript(t, pages)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a"), pages["/a"])
	writeFile(t, filepath.Join(dir, "b"), strings.Repeat("?", len(pages["/b"])))
	writeFile(t, filepath.Join(dir, "d"), "short")
	if _, err := destination.OpenFolder(dir); err == nil {
		t.Error("a folder with files was opened")
	}
	r := rebuild(t, url, dir, destination.Options{})
	if r.Adopted != 1 || r.Created != 0 || r.Failed != 2 {
		t.Errorf("%+v", r)
	}
	r = rebuild(t, url, dir, destination.Options{Replace: true})
	if r.Created != 2 || r.Failed != 0 {
		t.Errorf("with Replace: %+v", r)
	}
	if got := files(t, dir); got["a"] != pages["/a"] || got["b"] != pages["/b"] || got["d"] != pages["/d"] {
		t.Errorf("%.200v", got)
	}
}
