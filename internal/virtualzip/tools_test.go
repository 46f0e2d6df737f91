package virtualzip_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/virtualzip"
)

// run runs a tool in a time zone far from UTC, in a locale of UTF-8, and returns its
// output.
func run(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), needs.Program(t, name), args...)
	cmd.Env = append(os.Environ(), "TZ=America/St_Johns", "LC_ALL=C.UTF-8", "PYTHONUTF8=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, &stdout, &stderr)
	}
	return stdout.Bytes()
}

// tested are packages that other programs must accept, with the content of their
// entries.
func tested() map[string]func() (entries []virtualzip.Entry, contents [][]byte) {
	of := func(n int, name func(i int) string, content func(i int) []byte) func() ([]virtualzip.Entry, [][]byte) {
		return func() (entries []virtualzip.Entry, contents [][]byte) {
			var s source
			for i := range n {
				contents = append(contents, content(i))
				entries = append(entries, s.entry(name(i), contents[i], plain))
			}
			return entries, contents
		}
	}
	uris := []string{
		"https://example.org/papers/1.pdf",
		"https://example.org/papers",
		"https://example.org/Papers/1.pdf",
		"https://example.org/caf%C3%A9",
		"https://example.org/cafe%CC%81",
		"https://example.org/%E8%AB%96%E6%96%87/%F0%A0%9C%8E.txt",
		"https://example.org/" + strings.Repeat("long", 100) + ".html",
		"https://example.org/" + strings.Repeat("%E8%AB%96", 100),
		"https://example.org/" + strings.Repeat("deep/", 100) + "er.html",
		"https://example.org/con/nul?prn",
		"urn:isbn:978-3-16-148410-0",
	}
	return map[string]func() ([]virtualzip.Entry, [][]byte){
		"none":  of(0, nil, nil),
		"one":   of(1, func(int) string { return "a" }, func(int) []byte { return []byte("content") }),
		"empty": of(3, func(i int) string { return fmt.Sprint(i) }, func(int) []byte { return nil }),
		"large": of(3, func(i int) string { return fmt.Sprint(i) }, func(i int) []byte { return random(uint64(i), i*1_000_000) }),
		"named": of(len(uris), func(i int) string { return virtualzip.Name("resources", uris[i]) }, func(i int) []byte { return []byte(uris[i]) }),
		"many":  of(70_000, func(i int) string { return fmt.Sprintf("resources/%d/%d", i/1000, i) }, func(i int) []byte { return fmt.Append(nil, i) }),
	}
}

const python = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as z:
    for n, i in enumerate(z.infolist()):
        content = z.read(i).hex() if n % int(sys.argv[2]) == 0 else "not read"
        print(i.filename, i.date_time, content, sep="\0")
`

// stepIn returns from one of how many entries of a package tests read the content: from each, or
// from few of a large one in everyday runs.
func stepIn(entries int) int {
	if entries < 1000 {
		return 1
	}
	return needs.Size(100, 1)
}

// TestTools checks, lists and unpacks packages with other programs.
func TestTools(t *testing.T) {
	needs.Time(t)
	for name, make := range tested() {
		t.Run(name, func(t *testing.T) {
			entries, contents := make()
			path := filepath.Join(t.TempDir(), "package.zip")
			if err := os.WriteFile(path, whole(t, archive(t, entries...)), 0o600); err != nil {
				t.Fatal(err)
			}
			all := bytes.Join(contents, nil)
			t.Run("unzip", func(t *testing.T) {
				if len(entries) == 0 {
					t.Skip("unzip warns about every package without entries")
				}
				run(t, "unzip", "-tqq", path)
				if got := run(t, "unzip", "-p", path); !bytes.Equal(got, all) {
					t.Error("unzip -p gives other content")
				}
				if len(entries) < 100 {
					dir := t.TempDir()
					run(t, "unzip", "-qq", path, "-d", dir)
					checkUnpacked(t, dir, entries, contents)
				}
			})
			t.Run("bsdtar", func(t *testing.T) {
				if got := run(t, "bsdtar", "-xOf", path); !bytes.Equal(got, all) {
					t.Error("bsdtar -xO gives other content")
				}
				// From a pipe, so that it cannot use the central directory.
				if got := run(t, "sh", "-c", `cat "$0" | bsdtar -xOf -`, path); !bytes.Equal(got, all) {
					t.Error("bsdtar -xO gives other content of a stream")
				}
				if len(entries) < 100 {
					dir := t.TempDir()
					run(t, "bsdtar", "-xf", path, "-C", dir)
					checkUnpacked(t, dir, entries, contents)
				}
			})
			t.Run("python3", func(t *testing.T) {
				step := stepIn(len(entries))
				var want bytes.Buffer
				for i, e := range entries {
					content := "not read"
					if i%step == 0 {
						content = fmt.Sprintf("%x", contents[i])
					}
					fmt.Fprintf(&want, "%s\x00(2026, 3, 1, 12, 30, 14)\x00%s\n", e.Name, content)
				}
				if got := run(t, "python3", "-c", python, path, fmt.Sprint(step)); !bytes.Equal(got, want.Bytes()) {
					t.Error("zipfile gives other names, times or content")
				}
			})
		})
	}
}

// checkUnpacked compares the files below dir with the entries they come from.
func checkUnpacked(t *testing.T, dir string, entries []virtualzip.Entry, contents [][]byte) {
	t.Helper()
	files := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(_ string, d fs.DirEntry, err error) error {
		if d != nil && d.Type().IsRegular() {
			files++
		}
		return err
	})
	if err != nil || files != len(entries) {
		t.Errorf("%d files, not %d: %v", files, len(entries), err)
	}
	for i, e := range entries {
		path := filepath.Join(dir, e.Name)
		if _, err := os.Stat(path); err != nil {
			// bsdtar composes characters, as some file systems do.
			path = strings.ReplaceAll(path, "e\u0301", "é")
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(b, contents[i]) {
			t.Errorf("%s: other content: %v", e.Name, err)
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(when) {
			t.Errorf("%s: %v, %v", e.Name, info.ModTime(), err)
		}
	}
}
