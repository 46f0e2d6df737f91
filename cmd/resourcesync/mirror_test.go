package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// runMirror runs the command in this process.
func runMirror(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"mirror"}, args...), &out, &errs)
	return status, out.String(), errs.String()
}

// contents returns the files below a folder, without the state of a copy.
func contents(t testing.TB, folder string) map[string]string {
	t.Helper()
	out := make(map[string]string)
	must(t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".resourcesync" {
			return filepath.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the copy changes
		}
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		name, _ := filepath.Rel(folder, path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	}))
	return out
}

// awaitCopy mirrors until the copy equals the folder of the Source, whose scans may lag.
func awaitCopy(t testing.TB, s *served, folder string) {
	t.Helper()
	want := contents(t, s.folder)
	var got map[string]string
	for deadline := time.Now().Add(needs.Patience); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		runMirror(t, s.site, folder)
		if got = contents(t, folder); maps.Equal(got, want) {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: the copy has %.60q, the Source %.60q", name, got[name], want[name])
		}
	}
	t.Fatalf("the copy has %d files, the Source %d", len(got), len(want))
}

// TestMirror copies a folder that serve publishes, follows its changes, and audits the copy.
func TestMirror(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for i := range 30 {
		write(t, filepath.Join(folder, fmt.Sprintf("f%d.txt", i)), fmt.Sprint("content ", i))
	}
	must(t, os.Mkdir(filepath.Join(folder, "Über mich"), 0o755))
	write(t, filepath.Join(folder, "Über mich", "100% & more.txt"), "text")
	s := startReady(t, folder, "--page-size", "10")
	dir := filepath.Join(t.TempDir(), "copy")
	status, stdout, stderr := runMirror(t, s.site, dir)
	if status != 0 || stdout != "31 created, 0 updated, 0 deleted; the copy has 31 resources, 294 B.\n" || stderr != "" {
		t.Errorf("status %d, %q, %q", status, stdout, stderr)
	}
	awaitCopy(t, s, dir)

	s.write("f1.txt", "changed")
	s.write("new/a.txt", "new")
	must(t, os.Remove(filepath.Join(folder, "f2.txt")))
	awaitCopy(t, s, dir)

	if status, stdout, stderr := runMirror(t, s.site, dir, "--audit"); status != 0 || stdout != "31 resources listed, 31 the same in the copy.\n" {
		t.Errorf("audit: status %d, %q, %q", status, stdout, stderr)
	}
	write(t, filepath.Join(dir, "f1.txt"), "damaged")
	if status, stdout, stderr := runMirror(t, s.site, dir, "--audit"); status != 1 || !strings.Contains(stdout, "1 damaged in the copy:\n  "+s.site+"f1.txt\n") || !strings.Contains(stderr, "without --audit") {
		t.Errorf("audit of a damaged copy: status %d, %q, %q", status, stdout, stderr)
	}
	status, stdout, _ = runMirror(t, s.site, dir, "--json")
	var report destination.Report
	if err := json.Unmarshal([]byte(stdout), &report); status != 0 || err != nil || report.Updated != 1 || report.Resources != 31 {
		t.Errorf("repair: status %d, %s, %v", status, stdout, err)
	}
	awaitCopy(t, s, dir)

	// The copy can be published and copied like any folder.
	again := startReady(t, dir)
	awaitCopy(t, again, filepath.Join(t.TempDir(), "copy"))
}

// TestMirrorRefuses runs wrong command lines, and URLs that are not Sources.
func TestMirrorRefuses(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	occupied := t.TempDir()
	write(t, filepath.Join(occupied, "thesis.doc"), "text")
	for name, test := range map[string]struct {
		args   []string
		status int
		text   string
	}{
		"no folder":           {[]string{"http://127.0.0.1:1/"}, 2, "the folder or bucket for the copy"},
		"no URL":              {[]string{"example.org", t.TempDir()}, 2, "is not the URL of a Source"},
		"folder with files":   {[]string{"http://127.0.0.1:1/", occupied}, 2, "use an empty folder"},
		"nobody listens":      {[]string{"http://127.0.0.1:1/", t.TempDir()}, 1, "connection refused"},
		"audit and every":     {[]string{"http://127.0.0.1:1/", t.TempDir(), "--audit", "--every", "1h"}, 2, "--audit: excludes --every"},
		"every":               {[]string{"http://127.0.0.1:1/", t.TempDir(), "--every", "1ms"}, 2, "such as 15m"},
		"rate":                {[]string{"http://127.0.0.1:1/", t.TempDir(), "--rate", "-1"}, 2, "per second"},
		"concurrency":         {[]string{"http://127.0.0.1:1/", t.TempDir(), "--concurrency", "0"}, 2, "from 1 to 100"},
		"dumps":               {[]string{"http://127.0.0.1:1/", t.TempDir(), "--use-dumps", "sometimes"}, 2, "auto, always or never"},
		"log format":          {[]string{"http://127.0.0.1:1/", t.TempDir(), "--log-format", "xml"}, 2, "text or json"},
		"invalid address":     {[]string{"http://127.0.0.1:1/", t.TempDir(), "--allow-addresses", "x"}, 2, "10.1.2.0/24"},
		"audit and follow":    {[]string{"http://127.0.0.1:1/", t.TempDir(), "--audit", "--follow"}, 2, "--audit: excludes --every and --follow"},
		"rebuild and follow":  {[]string{"http://127.0.0.1:1/", t.TempDir(), "--rebuild", "--follow"}, 2, "--rebuild: excludes --audit, --every and --follow"},
		"replace alone":       {[]string{"http://127.0.0.1:1/", t.TempDir(), "--replace"}, 2, "needs --rebuild"},
		"callback, no follow": {[]string{"http://127.0.0.1:1/", t.TempDir(), "--callback-listen", ":0", "--callback-url", "http://127.0.0.1/"}, 2, "needs --follow"},
		"callback, no URL":    {[]string{"http://127.0.0.1:1/", t.TempDir(), "--follow", "--callback-listen", ":0"}, 2, "give --callback-url as well"},
		"callback URL":        {[]string{"http://127.0.0.1:1/", t.TempDir(), "--follow", "--callback-listen", "127.0.0.1:0", "--callback-url", "example.org"}, 2, "not the URL of a callback"},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := runMirror(t, test.args...)
			if status != test.status || stdout != "" || !strings.Contains(stderr, test.text) {
				t.Errorf("status %d, %q, %q, want %d and %q alone", status, stdout, stderr, test.status, test.text)
			}
		})
	}
}

// TestMirrorMoved continues the copy of a Source that has moved to another address.
func TestMirrorMoved(t *testing.T) {
	t.Parallel()
	folder, dir := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	for _, name := range []string{"a", "b", "c"} {
		write(t, filepath.Join(folder, name), name)
	}
	s := startReady(t, folder)
	if status, _, stderr := runMirror(t, s.site, dir); status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	former := s.site
	s.stop()
	s = startReady(t, folder)
	if status, _, stderr := runMirror(t, s.site, dir); status != 2 || !strings.Contains(stderr, "or --moved if") {
		t.Errorf("without --moved: status %d: %s", status, stderr)
	}
	want := "The Source has moved from " + former + " to " + s.site + "; 3 resources of the copy have new URIs.\n0 created, 0 updated, 0 deleted;"
	if status, stdout, stderr := runMirror(t, s.site, dir, "--moved"); status != 0 || !strings.HasPrefix(stdout, want) {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	awaitCopy(t, s, dir)
}

// TestMirrorMany copies RESOURCESYNC_TEST_FILES files by lists and by dumps, and follows the
// changes of a tenth of them.
func TestMirrorMany(t *testing.T) {
	t.Parallel()
	files, _ := strconv.Atoi(cmp.Or(os.Getenv(manyFiles), "200"))
	folder := t.TempDir()
	path := func(i int) string { return filepath.Join(folder, strconv.Itoa(i%100), fmt.Sprint(i, ".txt")) }
	for i := range files {
		must(t, os.MkdirAll(filepath.Dir(path(i)), 0o777))
		write(t, path(i), fmt.Sprint("content ", i))
	}
	s := startReady(t, folder, "--keep-versions", "1h")
	copies := map[string]string{"never": t.TempDir(), "auto": t.TempDir()}
	for dumps, dir := range copies {
		status, stdout, stderr := runMirror(t, s.site, dir, "--use-dumps", dumps, "--json")
		var report destination.Report
		must(t, json.Unmarshal([]byte(stdout), &report))
		if status != 0 || report.Created != int64(files) || (report.Packages > 0) != (dumps == "auto") || report.Unused > 0 {
			t.Errorf("--dumps %s: status %d, %+v, %s", dumps, status, report, stderr)
		}
		awaitCopy(t, s, dir)
	}
	for i := range files / 30 {
		write(t, path(i), "changed")
		must(t, os.Remove(path(files-1-i)))
		write(t, path(files+i), "new")
	}
	for _, dir := range copies {
		awaitCopy(t, s, dir)
		if status, stdout, stderr := runMirror(t, s.site, dir, "--audit"); status != 0 {
			t.Errorf("the audit fails: %s%s", stdout, stderr)
		}
	}
}

// TestMirrorKilled kills mirror RESOURCESYNC_KILLS times while a Source of
// RESOURCESYNC_TEST_FILES files changes. After each kill all files are whole, and in the end
// the copy equals the Source.
func TestMirrorKilled(t *testing.T) {
	needs.Time(t)
	for _, dumps := range []string{"auto", "never", "always"}[:needs.Size(1, 3)] {
		t.Run("dumps "+dumps, func(t *testing.T) {
			t.Parallel()
			mirrorKilled(t, dumps)
		})
	}
}

func mirrorKilled(t *testing.T, dumps string) {
	kills, _ := strconv.Atoi(cmp.Or(os.Getenv("RESOURCESYNC_KILLS"), "3"))
	files, _ := strconv.Atoi(cmp.Or(os.Getenv(manyFiles), "300"))
	seed := rand.Uint64()
	t.Logf("%d files, %d kills, seed %d", files, kills, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	folder := t.TempDir()
	for i := range files {
		write(t, filepath.Join(folder, fmt.Sprintf("f%d.txt", i)), sealed(random, 2000))
	}
	write(t, filepath.Join(folder, "large"), sealed(random, 10_000_000))
	s := startReady(t, folder, "--keep-versions", "1h", "--package-every", "1m")
	dir := filepath.Join(t.TempDir(), "copy")
	program, err := os.Executable()
	must(t, err)
	for kill := range kills {
		for range 20 {
			name := fmt.Sprintf("f%d.txt", random.IntN(files+files/3))
			if random.IntN(3) == 0 {
				os.Remove(filepath.Join(folder, name))
			} else {
				s.write(name, sealed(random, 2000))
			}
		}
		if kill%5 == 0 {
			s.write("large", sealed(random, 10_000_000))
		}
		p := exec.CommandContext(t.Context(), program, "mirror", s.site, dir, "--rate", "1000", "--use-dumps", dumps)
		p.Env = append(os.Environ(), beMain+"=1")
		must(t, p.Start())
		lives := random.IntN(500)
		if kill%4 == 3 {
			lives += random.IntN(files / 2) // some get far in a large baseline
		}
		time.Sleep(time.Duration(lives) * time.Millisecond)
		p.Process.Kill()
		p.Wait()
		if _, err := os.Stat(dir); err != nil {
			continue // killed before it has begun
		}
		copied := contents(t, dir)
		for name, text := range copied {
			if !isSealed(text) {
				t.Fatalf("after kill %d, %s is not whole: %d bytes", kill, name, len(text))
			}
		}
		if kill%(kills/10+1) == 0 {
			t.Logf("after kill %d, the copy has %d files", kill, len(copied))
		}
	}
	awaitCopy(t, s, dir)
	if status, stdout, stderr := runMirror(t, s.site, dir, "--audit"); status != 0 {
		t.Errorf("the audit fails: %s%s", stdout, stderr)
	}
}

// sealed returns a random text that begins with its checksum.
func sealed(random *rand.Rand, length int) string {
	body := strings.Repeat(fmt.Sprintf("%016x", random.Uint64()), random.IntN(length)/16+1)
	return fmt.Sprintf("%x", sha256.Sum256([]byte(body))) + body
}

func isSealed(text string) bool {
	const sum = 2 * sha256.Size
	return len(text) > sum && text[:sum] == fmt.Sprintf("%x", sha256.Sum256([]byte(text[sum:])))
}
