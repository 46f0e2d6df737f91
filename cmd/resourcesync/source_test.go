package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// An aggregated is a file of run that aggregates a library, and the mirror of what it publishes.
type aggregated struct {
	*process
	t                *testing.T
	library, address string
	file, at         string
}

// text returns the file. The requests to the library are limited to a rate.
func (a *aggregated) text(rate int) string {
	return fmt.Sprintf(`listen: %[1]s
base-url: http://%[1]s/
state: %[2]s/state.db
status: 127.0.0.1:0
sets:
  - name: library
    kind: source
    source: %[3]s
    copy: %[2]s/copies
    path: /library/
    rescan: 1s
    rate: %[4]d
  - name: papers
    kind: folder
    folder: %[2]s/papers
`, a.address, a.at, a.library, rate)
}

// listed returns the URIs of the originals by those of the copies, as the Resource List has them.
func (a *aggregated) listed() map[string]string {
	a.t.Helper()
	res, err := http.Get(a.site + "resourcesync/library/resourcelist.xml")
	must(a.t, err)
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil
	}
	_, entries, err := rsxml.Decode(res.Body)
	must(a.t, err)
	out := make(map[string]string)
	for _, e := range entries {
		if len(e.Links) != 1 || e.Links[0].Rel != resourcesync.RelVia || len(e.Metadata.Hashes) == 0 {
			a.t.Errorf("%s has the links %+v and the hashes %v", e.Loc, e.Links, e.Metadata.Hashes)
			continue
		}
		out[e.Loc] = e.Links[0].Href
	}
	return out
}

// await waits until the lists have the copies of exactly these originals, and a mirror of the
// aggregator their contents.
func (a *aggregated) await(copied, folder string) {
	a.t.Helper()
	want := make(map[string]string)
	for name := range contents(a.t, folder) {
		path := (&url.URL{Path: name}).EscapedPath()
		want["http://"+a.address+"/"+"library/"+path] = a.library + path
	}
	a.until("the originals are listed", func() bool {
		got := a.listed()
		return maps.Equal(got, want)
	})
	mirrored := make(map[string]string)
	a.until("the mirror has the contents", func() bool {
		status, out, errs := runMirror(a.t, a.site, copied, "--allow-addresses", "127.0.0.0/8")
		if status != 0 {
			a.t.Fatalf("mirror: status %d\n%s%s", status, out, errs)
		}
		mirrored = contents(a.t, filepath.Join(copied, "library"))
		return maps.Equal(mirrored, contents(a.t, folder))
	})
}

func (a *aggregated) healthy() bool {
	res, _ := a.get(a.site + "resourcesync/healthz")
	return res.StatusCode == http.StatusOK
}

// TestSource copies a Source, publishes the copies by a file, and mirrors them.
func TestSource(t *testing.T) {
	t.Parallel()
	folder, at := t.TempDir(), t.TempDir()
	for _, name := range []string{"a.txt", "b c/d.txt", "é.txt", "e.txt"} {
		write(t, filepath.Join(folder, name), "content of "+name)
	}
	write(t, filepath.Join(at, "papers", "paper.txt"), "a paper")
	source := needs.Address(t)
	library := func() *served {
		return startReady(t, folder, "--listen", source, "--base-url", "http://"+source+"/", "--websocket", "--state", filepath.Join(at, "library.db"))
	}
	l := library()
	a := &aggregated{t: t, library: "http://" + source + "/", address: needs.Address(t), file: filepath.Join(at, "site.yaml"), at: at}
	write(t, a.file, a.text(1000))
	a.process = startRun(t, a.file)
	a.stdout.await("Ready: 5 resources are listed in 2 sets")
	copied := filepath.Join(at, "mirror")
	a.await(copied, folder)

	// Changes arrive by the WebSocket, long before the next reading.
	l.write("a.txt", "changed")
	l.write("new.txt", "new")
	must(t, os.Remove(filepath.Join(folder, "e.txt")))
	a.await(copied, folder)
	if _, list := a.get(a.site + "resourcesync/library/changelist.xml"); !strings.Contains(list, `change="deleted"`) || !strings.Contains(list, "library/e.txt") {
		t.Errorf("the Change List is %s", list)
	}

	// Another setting replaces the set; its Destination goes from one to the other.
	a.reload(a.file, a.text(500), `"configuration reloaded".* changed=library`)
	l.write("a.txt", "changed after the reload")
	a.await(copied, folder)

	// A power cut, and changes meanwhile.
	a.kill()
	l.write("a.txt", "changed during the outage")
	must(t, os.Remove(filepath.Join(folder, "new.txt")))
	a.process = startRun(t, a.file)
	a.await(copied, folder)
	a.until("it is healthy", a.healthy)

	// The library is away: it is named, and what is known stays published, also after a restart.
	before := a.listed()
	l.stop()
	a.until("it is unhealthy", func() bool { return !a.healthy() })
	if _, now := a.toldOperators(); !slices.ContainsFunc(now.Problems, func(p string) bool { return strings.Contains(p, "set library: the Source "+a.library+": ") }) {
		t.Errorf("the problems are %q", now.Problems)
	}
	must(t, a.Process.Signal(syscall.SIGTERM))
	if err := a.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, a.stderr)
	}
	a.process = startRun(t, a.file)
	a.until("the copies are listed", func() bool { return maps.Equal(a.listed(), before) })
	write(t, filepath.Join(folder, "late.txt"), "late")
	library()
	a.await(copied, folder)
	a.until("it is healthy again", a.healthy)

	must(t, a.Process.Signal(syscall.SIGTERM))
	if err := a.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, a.stderr)
	}
}

// TestSourceIncomplete has a Source of which a resource fails: the set is not shown, and the
// reason is.
func TestSourceIncomplete(t *testing.T) {
	t.Parallel()
	folder, at := t.TempDir(), t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	write(t, filepath.Join(folder, "large.txt"), strings.Repeat("large", 1000))
	l := startReady(t, folder)
	a := &served{t: t, stdout: newOutput(t), stderr: newOutput(t)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, []string{"replica", l.site, "--copy", filepath.Join(at, "copies"), "--state", filepath.Join(at, "state.db"),
			"--max-resource", "1000", "--rescan", "1s", "--listen", "127.0.0.1:0"}, a.stdout, a.stderr)
	}()
	defer func() {
		cancel()
		if status := <-done; status != 0 {
			t.Errorf("status %d:\n%s", status, a.stderr)
		}
	}()
	a.awaitListening()
	a.stderr.await(`scan failed.*the Source ` + l.site + `: 1 of its resources could not be copied, such as ` + l.site + `large.txt: `)
	if res, _ := a.get("resourcesync/resourcelist.xml"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("the list of an incomplete copy: %s", res.Status)
	}
	l.write("large.txt", "small now")
	a.until("the copy is shown", func() bool {
		res, list := a.get("resourcesync/resourcelist.xml")
		return res.StatusCode == http.StatusOK && strings.Contains(list, "large.txt")
	})
}
