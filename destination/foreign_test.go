package destination_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/fault"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// writeFile writes a file with the folders above it.
func writeFile(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		needs.Skip(t, err) // on Windows only some users may
	}
}

// everything returns the content of a folder except the state of the copy: files with their
// texts, folders, and symbolic links with their targets.
func everything(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		rel = filepath.ToSlash(rel)
		switch {
		case rel == ".resourcesync":
			return filepath.SkipDir
		case d.IsDir():
			out[rel+"/"] = ""
		case d.Type()&fs.ModeSymlink != 0:
			out[rel], err = os.Readlink(name)
		default:
			var text []byte
			text, err = os.ReadFile(name)
			out[rel] = string(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestForeign has files, folders and symbolic links of others in the way of copies. They are not
// touched, the rest is copied, and each run names them without requesting the content again.
// When they have been moved, or the Source has deleted the resource, the copy is complete.
func TestForeign(t *testing.T) {
	for _, test := range []struct {
		name, resource, at, kind string
		make                     func(t *testing.T, path string)
	}{
		{"a file", "mine.txt", "mine.txt", "file", func(t *testing.T, path string) { writeFile(t, path, "mine") }},
		{"a folder", "mine", "mine", "folder", func(t *testing.T, path string) { writeFile(t, path+"/a", "mine") }},
		{"an empty folder", "mine", "mine", "folder", func(t *testing.T, path string) { os.MkdirAll(path, 0o777) }},
		{"a file instead of a folder", "a/mine/b", "a/mine", "file", func(t *testing.T, path string) { writeFile(t, path, "mine") }},
		{"a link", "mine", "mine", "symbolic link", func(t *testing.T, path string) { link(t, "nowhere", path) }},
		{"a link to the same content", "mine", "mine", "symbolic link", func(t *testing.T, path string) {
			target := filepath.Join(t.TempDir(), "same")
			writeFile(t, target, "new")
			link(t, target, path)
		}},
		{"a link to a folder", "a/mine/b", "a/mine", "symbolic link", func(t *testing.T, path string) {
			os.MkdirAll(filepath.Dir(path), 0o777)
			link(t, t.TempDir(), path)
		}},
		{"a link to a folder of the copy", "mine/b", "mine", "symbolic link", func(t *testing.T, path string) { link(t, "first", path) }},
	} {
		for _, end := range []string{"moved", "deleted"} {
			t.Run(test.name+" "+end, func(t *testing.T) {
				src := newSource(t, nil)
				src.put(t, "first/one", "1")
				m := openMirror(t, src.URL, t.TempDir(), nil)
				m.sync(t)
				path := filepath.Join(m.dir, filepath.FromSlash(test.at))
				test.make(t, path)
				before := everything(t, m.dir)
				src.put(t, test.resource, "new")
				src.put(t, "other", "text")
				for again := range 2 {
					src.requested("")
					r := m.sync(t)
					want := fmt.Sprintf("%s is a %s that does not belong to the copy; move it elsewhere", path, test.kind)
					if r.Failed != 1 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Error, want) {
						t.Errorf("%+v, want %q", r, want)
					}
					if n := src.requested("/" + test.resource); n != 1-again {
						t.Errorf("run %d requests the content %d times", again, n)
					}
					before["other"] = "text"
					if got := everything(t, m.dir); fmt.Sprint(got) != fmt.Sprint(before) {
						t.Errorf("got %v, want %v", got, before)
					}
				}
				if a, err := m.Audit(t.Context()); err != nil || a.Missing.Count != 1 {
					t.Errorf("audit: %+v, %v", a, err)
				}
				if end == "deleted" {
					src.remove(test.resource)
					if r := m.sync(t); r.Failed != 0 || r.Deleted != 0 {
						t.Errorf("deleted: %+v", r)
					}
					if got := everything(t, m.dir); fmt.Sprint(got) != fmt.Sprint(before) {
						t.Errorf("got %v, want %v", got, before)
					}
					return
				}
				if err := os.Rename(path, filepath.Join(t.TempDir(), "moved")); err != nil {
					t.Fatal(err)
				}
				if r := m.sync(t); r.Failed != 0 || r.Created != 1 {
					t.Errorf("moved: %+v", r)
				}
				src.same(t, m.dir)
			})
		}
	}
}

// TestReplacedCopy: the user has replaced copies. A file counts as damage and is repaired. A
// folder or link is not touched, whether the resource changes or is deleted.
func TestReplacedCopy(t *testing.T) {
	src := newSource(t, nil)
	for _, name := range []string{"edited", "a", "b", "c/x", "d/x", "gone"} {
		src.put(t, name, "old")
	}
	m := openMirror(t, src.URL, t.TempDir(), nil)
	m.sync(t)
	at := func(name string) string { return filepath.Join(m.dir, name) }
	writeFile(t, at("edited"), "by its user")
	for _, name := range []string{"a", "b", "c", "d", "gone"} {
		if err := os.RemoveAll(at(name)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, at("a/mine"), "mine")
	link(t, "edited", at("b"))
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "x"), "mine")
	link(t, outside, at("c"))
	link(t, outside, at("d"))
	a, err := m.Audit(t.Context())
	if err != nil || a.Damaged.Count != 6 {
		t.Errorf("%+v, %v", a, err)
	}
	src.put(t, "a", "new")
	src.remove("b")
	src.remove("d/x")
	if r := m.sync(t); r.Failed != 2 || r.Updated != 2 || r.Deleted != 2 {
		t.Errorf("%+v", r)
	}
	want := map[string]string{"edited": "old", "gone": "old", "a/": "", "a/mine": "mine", "b": "edited", "c": outside, "d": outside}
	if got := everything(t, m.dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if text, err := os.ReadFile(filepath.Join(outside, "x")); string(text) != "mine" {
		t.Errorf("outside: %q, %v", text, err)
	}
}

// TestEmptyFolders: an emptied folder is removed only if it has been made for copies, whether it was
// made in this process or an earlier one.
func TestEmptyFolders(t *testing.T) {
	src := newSource(t, nil)
	dir := t.TempDir()
	m := openMirror(t, src.URL, dir, nil)
	if err := os.MkdirAll(filepath.Join(dir, "mine/empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mine/a", "mine/empty/a", "mine/made/deep/a", "made/deep/a", "used/a"} {
		src.put(t, name, "text")
	}
	m.sync(t)
	m.close()
	writeFile(t, filepath.Join(dir, "used/mine"), "mine")
	m = openMirror(t, src.URL, dir, nil)
	for _, name := range []string{"mine/a", "mine/empty/a", "mine/made/deep/a", "made/deep/a", "used/a"} {
		src.remove(name)
	}
	m.sync(t)
	want := map[string]string{"mine/": "", "mine/empty/": "", "used/": "", "used/mine": "mine"}
	if got := everything(t, dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	src.put(t, "made", "a file now") // where the copy had a folder
	m.sync(t)
	want["made"] = "a file now"
	if got := everything(t, dir); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

var errKilled = errors.New("killed")

// openKilled is openMirror for a process that is killed before the operation with a number.
func openKilled(t *testing.T, url, dir string, at int) (m *mirror, operations *int) {
	t.Helper()
	n := new(int)
	killed := false
	hook := fault.Hook(func(operation, name string) error {
		if *n++; *n == at || killed {
			killed = true
			return errKilled
		}
		return nil
	})
	folder, err := destination.OpenFolderWith(dir, hook)
	if err != nil {
		return nil, n
	}
	d, err := destination.OpenWith(url, folder, &destination.Options{Concurrency: 1, Logger: slog.New(slog.DiscardHandler)}, nil, hook)
	if err != nil {
		folder.Close()
		return nil, n
	}
	m = &mirror{d, folder, dir}
	t.Cleanup(m.close)
	return m, n
}

// TestKilledAnywhere kills a process while it copies, and while the Source changes: before each of
// its operations, or each fifth one in everyday runs. The user's files are in the way of some resources from the
// beginning, and others appear after the kill. No copy is lost or taken for a file of the user, and
// the user's files are not touched.
func TestKilledAnywhere(t *testing.T) {
	needs.Time(t)
	for at, last := 1, false; !last; at += needs.Size(5, 1) {
		src := newSource(t, nil)
		for _, name := range []string{"a", "b/c", "b/d/e", "theirs", "withdrawn", "withdrawn-folder/x"} {
			src.put(t, name, "text of "+name)
		}
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, ".resourcesync/made"), "") // so that the folder passes for a copy
		writeFile(t, filepath.Join(dir, "theirs"), "mine")
		m, n := openKilled(t, src.URL, dir, at)
		if m != nil {
			_, err := m.Sync(t.Context())
			last = err == nil && *n < at
			m.close()
		}
		src.remove("withdrawn")
		src.remove("withdrawn-folder/x")
		src.put(t, "a", "another text")
		src.put(t, "late", "text")
		src.remove("b/c")
		src.put(t, "b/c/folder-now", "text")
		writeFile(t, filepath.Join(dir, "late"), "also mine")
		m = openMirror(t, src.URL, dir, nil)
		for range 2 {
			if r := m.sync(t); r.Failed != 2 {
				t.Fatalf("killed at %d: %+v", at, r)
			}
		}
		want := map[string]string{
			"a": "another text", "b/": "", "b/c/": "", "b/c/folder-now": "text", "b/d/": "", "b/d/e": "text of b/d/e",
			"theirs": "mine", "late": "also mine",
		}
		got := everything(t, dir)
		delete(got, "withdrawn-folder/") // made by a process that was killed before it recorded that
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("killed at %d: got %v, want %v", at, got, want)
		}
		if entries, err := os.ReadDir(filepath.Join(dir, ".resourcesync/tmp")); len(entries) > 0 {
			t.Errorf("killed at %d: %d temporary files, %v", at, len(entries), err)
		}
		m.close()
		if last && at < 20 {
			t.Errorf("only %d operations", at)
		}
	}
}
