package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestPart changes a folder and scans the parts that have changed.
func TestPart(t *testing.T) {
	at := func(root, key string) string { return filepath.Join(root, filepath.FromSlash(key)) }
	for name, test := range map[string]struct {
		change func(root string) error
		paths  string
		want   string
	}{
		"nothing":          {nil, "", "a/x a/y/z a-b/x b/.h b/x c"},
		"nothing changed":  {nil, "a-b/x a/ c", "a/x a/y/z a-b/x b/.h b/x c"},
		"file created":     {func(r string) error { return os.WriteFile(at(r, "a/n"), nil, 0o644) }, "a/n", "a/n a/x a/y/z a-b/x b/.h b/x c"},
		"file removed":     {func(r string) error { return os.Remove(at(r, "c")) }, "c c/", "a/x a/y/z a-b/x b/.h b/x"},
		"others unnoticed": {func(r string) error { return os.RemoveAll(at(r, "a")) }, "a/x", "a/y/z a-b/x b/.h b/x c"},
		"folder removed":   {func(r string) error { return os.RemoveAll(at(r, "a")) }, "a a/", "a-b/x b/.h b/x c"},
		"folder renamed":   {func(r string) error { return os.Rename(at(r, "a"), at(r, "0")) }, "0/ a a/", "0/x 0/y/z a-b/x b/.h b/x c"},
		"folder moved":     {func(r string) error { return os.Rename(at(r, "a"), at(r, "b/a")) }, "a a/ b/a/", "a-b/x b/.h b/a/x b/a/y/z b/x c"},
		"folder hidden":    {func(r string) error { return os.Rename(at(r, "a"), at(r, ".a")) }, ".a/ a a/", "a-b/x b/.h b/x c"},
		"folder excluded":  {func(r string) error { return os.Rename(at(r, "a"), at(r, "no")) }, "a a/ no/", "a-b/x b/.h b/x c"},
		"below excluded":   {func(r string) error { return os.Rename(at(r, "a"), at(r, "no")) }, "a a/ no/x no/y/", "a-b/x b/.h b/x c"},
		"file for folder": {func(r string) error {
			return errors.Join(os.RemoveAll(at(r, "a")), os.WriteFile(at(r, "a"), nil, 0o644))
		}, "a a/", "a a-b/x b/.h b/x c"},
		"folder for file": {func(r string) error {
			return errors.Join(os.Remove(at(r, "c")), os.Mkdir(at(r, "c"), 0o755), os.WriteFile(at(r, "c/n"), nil, 0o644))
		}, "c c/", "a/x a/y/z a-b/x b/.h b/x c/n"},
		"link for file": {func(r string) error {
			return errors.Join(os.Remove(at(r, "c")), os.Symlink("a/x", at(r, "c")))
		}, "c", "a/x a/y/z a-b/x b/.h b/x"},
		"link for folder": {func(r string) error {
			return errors.Join(os.Rename(at(r, "a"), at(r, "n")), os.Symlink("n", at(r, "a")))
		}, "a a/ n/", "a-b/x b/.h b/x c n/x n/y/z"},
		"through a link": {func(r string) error {
			return errors.Join(os.Rename(at(r, "a"), at(r, "n")), os.Symlink("n", at(r, "a")))
		}, "a/x a/y/", "a-b/x b/.h b/x c"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, key := range []string{"a/x", "a/y/z", "a-b/x", "b/x", "b/.h", "c"} {
				write(t, root, key, key)
			}
			d := openDir(t, root, &Options{
				DotFiles: true,
				Exclude:  func(key string, isDir bool) bool { return isDir && (key == "no" || key == ".a") },
			})
			set := complete(t, d)
			if test.change != nil {
				must(t, test.change(root))
			}
			replacePart(t, d, set, strings.Fields(test.paths))
			got := slices.SortedFunc(maps.Keys(set), strings.Compare)
			want := strings.Fields(test.want)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// TestPartIncomplete: if the folder itself cannot be scanned, a part ends with an error,
// so stores delete nothing.
func TestPartIncomplete(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	write(t, root, "a/x", "")
	d := openDir(t, root, nil)
	must(t, os.Rename(root, root+"2"))
	write(t, root, "b", "")
	ranges, part := d.Part(t.Context(), []string{"a/"})
	if want := []resourcesync.Range{{From: "a/", To: "a0"}}; !slices.Equal(ranges, want) {
		t.Errorf("ranges %q", ranges)
	}
	n := 0
	for r, err := range part {
		if n++; err == nil {
			t.Errorf("yielded %v", r)
		}
	}
	if n != 1 {
		t.Errorf("yielded %d times", n)
	}
}

// randomName returns a name that sorts close to the names below it, or that must be
// escaped in URIs.
func randomName(random *rand.Rand) string {
	const chars = "ab-./0%2F \x01\xff+é"
	name := ""
	for range 1 + random.IntN(3) {
		name += string(chars[random.IntN(len(chars))])
	}
	name = strings.ReplaceAll(name, "/", "")
	if !fs.ValidPath("x"+name) && strings.Contains(name, "\x00") || strings.Trim(name, ".") == "" {
		return "x"
	}
	return name
}

// TestPartRanges: the range of a folder contains exactly the keys below it, and the range
// of a file contains no other key, for all names.
func TestPartRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	path := func() string {
		key := randomName(random)
		for range random.IntN(3) {
			key += "/" + randomName(random)
		}
		return key
	}
	for range 100_000 {
		folder, key := path(), path()
		if random.IntN(2) == 0 {
			key = folder + string("/-.0\xff"[random.IntN(5)]) + key
		}
		if got := rangeAt(folder + "/").Contains(key); got != strings.HasPrefix(key, folder+"/") {
			t.Fatalf("the range of the folder %q contains %q: %t", folder, key, got)
		}
		if rangeAt(folder).Contains(key) != (folder == key) {
			t.Fatalf("the range of the file %q contains %q, or not itself", folder, key)
		}
	}
}

// TestWatchTorture creates, changes, moves and removes files and folders while parts are
// scanned. In the end, the copy that follows the reports equals the folder.
func TestWatchTorture(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	root := t.TempDir()
	for i := range 30 {
		write(t, root, fmt.Sprintf("%d/%d/%d", i%3, i%5, i), "")
	}
	w := watchFolder(t, root, nil)
	for i := range 600 {
		torture(t, random, root, i)
		if i%20 == 0 {
			time.Sleep(time.Duration(random.Int64N(int64(10 * time.Millisecond))))
		}
	}
	want := complete(t, w.dir)
	timeout := time.After(needs.Patience)
	for got := (map[string]resourcesync.Resource)(nil); !maps.EqualFunc(got, want, resourcesync.Resource.Equal); {
		select {
		case got = <-w.found:
		case <-timeout:
			t.Fatalf("the copy has\n%q\nwant\n%q", keys(got), keys(want))
		}
	}
}

// torture makes a random change below root. Some attempts fail.
func torture(t testing.TB, random *rand.Rand, root string, i int) {
	var all []string
	must(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		all = append(all, path)
		return err
	}))
	one := func() string { return all[random.IntN(len(all))] }
	at, name := one(), randomName(random)
	switch random.IntN(8) {
	case 0, 1:
		os.WriteFile(filepath.Join(at, name), []byte(fmt.Sprint(i)), 0o644)
	case 2:
		os.WriteFile(at, []byte(fmt.Sprint(i)), 0o644)
	case 3:
		os.MkdirAll(filepath.Join(at, name, name), 0o755)
		os.WriteFile(filepath.Join(at, name, name, name), []byte(fmt.Sprint(i)), 0o644)
	case 4:
		if at != root && len(all) > 30 {
			os.RemoveAll(at)
		}
	case 5, 6:
		if at != root {
			os.Rename(at, filepath.Join(one(), name))
		}
	case 7:
		os.Symlink(name, filepath.Join(at, name))
	}
}
