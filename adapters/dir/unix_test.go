//go:build unix

package dir

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/resourcesync-go/resourcesync"
)

// TestLinks has links of all kinds, in all positions. None is followed.
func TestLinks(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "secret", "secret")
	here := t.TempDir()
	write(t, here, "folder/file", "file")
	write(t, here, ".hidden/file", "hidden")
	for name, target := range map[string]string{
		"to-file":          "folder/file",
		"to-file.txt":      "folder/file",
		"to-folder":        "folder",
		"folder/cycle":     "..",
		"folder/self":      "self",
		"to-hidden":        ".hidden/file",
		"to-hidden-folder": ".hidden",
		"dangling":         "nowhere",
		"absolute":         filepath.Join(outside, "secret"),
		"outside":          "../" + filepath.Base(outside) + "/secret",
		"outside-folder":   outside,
	} {
		must(t, os.Symlink(target, filepath.Join(here, name)))
	}
	d := openDir(t, here, nil)
	wantKeys(t, complete(t, d), "folder/file")
	if d.Progress().Skipped != 11 {
		t.Errorf("%+v, want 11 links skipped", d.Progress())
	}
	wantKeys(t, complete(t, openDir(t, here, &Options{Hashes: []string{}})), "folder/file") // hardly opens any

	for _, key := range []string{
		"to-file", "to-file.txt", "to-folder/file", "folder/cycle/folder/file", "folder/self", "to-hidden", "to-hidden-folder/file",
		"dangling", "absolute", "outside", "outside-folder/secret", "outside-folder",
	} {
		checkNotServed(t, d, key)
	}
}

// checkNotServed checks that the file at key is not available in any way.
func checkNotServed(t *testing.T, d *Dir, key string) {
	t.Helper()
	uri, _ := d.uri(key)
	if w := serve(d, http.MethodGet, uri, nil); w.Code != http.StatusNotFound {
		t.Errorf("%q: status %d, body %q", key, w.Code, w.Body)
	}
	u, err := url.Parse(uri)
	must(t, err)
	if d.Covers(u) {
		t.Errorf("%q is covered", key)
	}
	if f, err := d.Open(t.Context(), resourcesync.Resource{Key: key}); err == nil {
		f.Close()
		t.Errorf("%q opens", key)
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%q: %v", key, err)
	}
}

// TestDescriptors scans, serves and opens files, and leaves none open.
func TestDescriptors(t *testing.T) {
	const open = "/proc/self/fd"
	if _, err := os.Stat(open); err != nil {
		t.Skip("this system does not tell what is open")
	}
	count := func() int {
		entries, err := os.ReadDir(open)
		must(t, err)
		return len(entries)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close what is forgotten
	here := t.TempDir()
	manyFiles(t, here, 20)
	d := openDir(t, here, nil)
	before := count()
	for range 3 {
		for _, r := range complete(t, d) {
			if w := serve(d, http.MethodGet, r.URI, nil); w.Code != http.StatusOK {
				t.Errorf("%s: %d", r.URI, w.Code)
			}
			for _, key := range []string{r.Key + "/x", "0/.x", ".x/y", "0/none"} {
				checkNotServed(t, d, key)
			}
			f, err := d.Open(t.Context(), r)
			must(t, err)
			must(t, f.Close())
			r.Stamp = "other"
			if _, err := d.Open(t.Context(), r); err == nil {
				t.Error("another version opens")
			}
		}
		for range d.Resources(t.Context()) {
			break
		}
	}
	if after := count(); after > before {
		t.Errorf("%d files and folders are left open", after-before)
	}
}

// TestLinkAsRoot publishes a folder through a symbolic link to it.
func TestLinkAsRoot(t *testing.T) {
	here := t.TempDir()
	write(t, here, "version-1/file", "one")
	write(t, here, "version-2/file", "two")
	current := filepath.Join(here, "current")
	must(t, os.Symlink("version-1", current))
	d := openDir(t, current, nil)
	wantKeys(t, complete(t, d), "file")
	must(t, os.Remove(current))
	must(t, os.Symlink("version-2", current))
	if _, err := list(t, d); err == nil {
		t.Error("another folder was scanned without a word")
	}
}

// TestD11_LinksAreCounted counts and logs symbolic links, which people may miss in the
// list, but not FIFOs and excluded files.
func TestD11_LinksAreCounted(t *testing.T) {
	var log logbook
	here := t.TempDir()
	write(t, here, "file", "")
	must(t, os.Symlink("file", filepath.Join(here, "link")))
	must(t, os.Symlink("file", filepath.Join(here, ".hidden")))
	must(t, syscall.Mkfifo(filepath.Join(here, "fifo"), 0o644))
	d := openDir(t, here, &Options{Logger: log.logger()})
	for range 2 {
		wantKeys(t, complete(t, d), "file")
		if d.Progress().Skipped != 1 || log.lines("dir: skipped") != 1 || log.lines(`key=link error="dir: a symbolic link is not followed`) != 1 {
			t.Errorf("%+v, log:\n%s", d.Progress(), &log.buf)
		}
	}
}

func TestSpecialFiles(t *testing.T) {
	here := t.TempDir()
	write(t, here, "file", "")
	must(t, syscall.Mkfifo(filepath.Join(here, "fifo.txt"), 0o644))
	listener, err := net.Listen("unix", filepath.Join(here, "socket.txt"))
	must(t, err)
	defer listener.Close()
	d := openDir(t, here, nil)
	wantKeys(t, complete(t, d), "file")
	if d.Progress().Skipped != 0 {
		t.Errorf("%+v: nobody expects these to be published", d.Progress())
	}
	wantKeys(t, complete(t, openDir(t, here, &Options{Hashes: []string{}})), "file")
	checkNotServed(t, d, "fifo.txt")
	checkNotServed(t, d, "socket.txt")
}

// TestSwaps replaces a file or folder after it was seen and before it is opened.
func TestSwaps(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "b", "secret")
	here := t.TempDir()
	write(t, here, "other/b", "other")
	swaps := map[string]func(path string) error{
		"link inside":  func(path string) error { return os.Symlink("../other/b", path) },
		"link outside": func(path string) error { return os.Symlink(filepath.Join(outside, "b"), path) },
		"fifo":         func(path string) error { return syscall.Mkfifo(path, 0o644) },
		"folder":       func(path string) error { return os.Mkdir(path, 0o755) },
	}
	for name, swap := range swaps {
		t.Run(name, func(t *testing.T) {
			defer os.RemoveAll(filepath.Join(here, "a"))
			write(t, here, "a/b", "a")
			d := openDir(t, here, nil)
			d.known = func(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
				if slices.Contains(keys, "a/b") {
					path := filepath.Join(here, "a", "b")
					must(t, errors.Join(os.Remove(path), swap(path)))
				}
				return make([]resourcesync.Resource, len(keys)), nil
			}
			wantKeys(t, complete(t, d), "other/b")
		})
	}
}

// TestStampTellsInodes has two files that differ only in their inodes.
func TestStampTellsInodes(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a", "")
	st := statOf(t, openDir(t, here, nil), "a")
	other := st
	other.inode++
	if st.isVersion(&other) || st.stamp() == other.stamp() {
		t.Errorf("both have the stamp %s", st.stamp())
	}
}

// TestUnreadableFolder runs out of file descriptors part-way, so that even the
// superuser cannot continue.
func TestUnreadableFolder(t *testing.T) {
	var log logbook
	here := t.TempDir()
	manyFiles(t, here, 40)
	d := openDir(t, here, &Options{Logger: log.logger(), Hashes: []string{}})
	var found int
	var limit syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	restore := func() { must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit)) }
	defer restore()
	d.known = func(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
		none := limit
		none.Cur = 0
		return make([]resourcesync.Resource, len(keys)), syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none)
	}
	kept := map[string]bool{} // of the folders 0 to 6
	for r, err := range d.Resources(t.Context()) {
		switch unreadable, ok := errors.AsType[*resourcesync.UnreadableError](err); {
		case err == nil:
			found++
			kept[r.Key[:1]] = true
		case ok && errors.Is(err, syscall.EMFILE):
			kept[unreadable.Keys.From[:1]] = true
		default:
			t.Error(err)
		}
	}
	restore()
	if found == 0 || found == 40 {
		t.Errorf("found %d: the test is about what lies between", found)
	}
	if len(kept) != 7 || log.lines("dir: skipped") == 0 {
		t.Errorf("kept %v, log: %s", kept, &log.buf)
	}
	d.known = nil
	if found := complete(t, d); len(found) != 40 {
		t.Errorf("found %d afterwards", len(found))
	}
}

// TestD10_Permissions reports files without permission to read as unreadable.
func TestD10_Permissions(t *testing.T) {
	if os.Geteuid() == 0 {
		runAsNobody(t) // the superuser may read everything
		return
	}
	var log logbook
	here := t.TempDir()
	write(t, here, "a", "a")
	write(t, here, "unreadable", "b")
	write(t, here, "f/c", "c")
	write(t, here, "g/d", "d")
	must(t, os.Chmod(filepath.Join(here, "unreadable"), 0))
	d := openDir(t, here, &Options{Logger: log.logger()})

	wantKeys(t, complete(t, d), "a f/c g/d")
	if d.Progress().Skipped != 1 || log.lines("dir: skipped") != 1 || log.lines("permission denied; let this user read it") != 1 {
		t.Errorf("%+v, log: %s", d.Progress(), &log.buf)
	}
	file := resourcesync.Range{From: "unreadable", To: "unreadable\x00"}
	if got := unreadable(t, d); !slices.Equal(got, []resourcesync.Range{file}) {
		t.Errorf("unreadable: %q", got)
	}
	uri, _ := d.uri("unreadable")
	if w := serve(d, http.MethodGet, uri, nil); w.Code != http.StatusNotFound {
		t.Errorf("the unreadable file has status %d", w.Code)
	}

	// Without permission to read the whole folder, the scan fails.
	must(t, os.Chmod(here, 0o100))
	if _, err := list(t, d); err == nil || !strings.HasSuffix(err.Error(), "permission denied; let this user read it") {
		t.Errorf("the error of the folder is %v", err)
	}
	must(t, os.Chmod(here, 0o700))

	// A folder that cannot be listed or entered does not affect other files, and its
	// files are not taken for deleted.
	for _, mode := range []fs.FileMode{0o000, 0o300, 0o400, 0o600} {
		must(t, os.Chmod(filepath.Join(here, "f"), mode))
		found, ranges := complete(t, d), unreadable(t, d)
		must(t, os.Chmod(filepath.Join(here, "f"), 0o755))
		wantKeys(t, found, "a g/d")
		for _, r := range ranges {
			if r != file && (!r.Contains("f/c") || r.Contains("f") || r.Contains("g/d")) {
				t.Errorf("mode %v: unreadable: %q", mode, r)
			}
		}
		if len(ranges) != 2 {
			t.Errorf("mode %v: unreadable: %q", mode, ranges)
		}
	}
	must(t, os.Chmod(here, 0o000))
	_, err := list(t, d)
	must(t, os.Chmod(here, 0o755))
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("the folder itself may not be read: %v", err)
	}
}

// runAsNobody runs the test that calls it in a process without privileges.
func runAsNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	home, err := os.MkdirTemp("", "nobody")
	must(t, err)
	defer os.RemoveAll(home)
	must(t, os.Chown(home, nobody, nobody))
	binary, err := os.ReadFile(os.Args[0])
	must(t, err)
	program := filepath.Join(home, "test")
	must(t, os.WriteFile(program, binary, 0o755))
	must(t, os.Chown(program, nobody, nobody))
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = home, []string{"TMPDIR=" + home, "HOME=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS")) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
