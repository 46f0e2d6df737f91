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

// An aggregated is a configuration file that aggregates a library, and a mirror of its
// publication.
type aggregated struct {
	*process
	t                *testing.T
	library, address string
	file, at         string
}

// text returns the configuration file. The rate of requests to the library is limited.
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
    websub: false
    rate: %[4]d
  - name: papers
    kind: folder
    folder: %[2]s/papers
`, a.address, a.at, a.library, rate)
}

// listed returns the URIs of the originals by the URIs of their copies, from the Resource List.
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
// aggregator has their contents.
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

// TestSource copies a Source, publishes the copies with a configuration file, and
// mirrors them.
func TestSource(t *testing.T) {
	t.Parallel()
	needs.Time(t)
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

	// Changes arrive by the WebSocket, long before the next scheduled run.
	l.write("a.txt", "changed")
	l.write("new.txt", "new")
	must(t, os.Remove(filepath.Join(folder, "e.txt")))
	a.await(copied, folder)
	if _, list := a.get(a.site + "resourcesync/library/changelist.xml"); !strings.Contains(list, `change="deleted"`) || !strings.Contains(list, "library/e.txt") {
		t.Errorf("the Change List is %s", list)
	}

	// With another setting, the set is replaced, and the new one continues the copy.
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

	// The library is down: the problem names it, and the copies stay published, also after a
	// restart.
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

// TestSourceWebSub copies a Source whose hub sends the changes to the server that publishes
// the copies.
func TestSourceWebSub(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder, at := t.TempDir(), t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	l := startReady(t, folder, loopback...)
	site := "http://" + needs.Address(t) + "/"
	flags := []string{"replica", l.site, "--copy", filepath.Join(at, "copies"), "--state", filepath.Join(at, "state.db"),
		"--rescan", "1h", "--listen", strings.Trim(site, "htp:/"), "--base-url", site}
	changes := []string{}
	for _, prefix := range []string{"/resourcesync/", "/"} { // the second time, the subscription is known
		ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
		a := &served{t: t, stdout: newOutput(t), stderr: newOutput(t), site: site}
		done := make(chan int, 1)
		go func() { done <- run(ctx, append(flags, "--prefix", prefix), a.stdout, a.stderr) }()
		a.stdout.await("Ready")
		a.stderr.await(`following a channel.*channel=change.*by=WebSub`)
		a.stderr.await(`following a channel.*channel=framework.*by=WebSub`)
		for range 3 {
			name := fmt.Sprintf("new%d.txt", len(changes))
			l.write(name, name)
			changes = append(changes, "created "+name)
			a.awaitChanges(len(changes))
		}
		if got := a.changes(); !slices.Equal(got, changes) {
			t.Errorf("changes %q, want %q", got, changes)
		}
		if res, _ := a.get(strings.TrimPrefix(prefix, "/") + "callback/x"); res.StatusCode != http.StatusNotFound {
			t.Errorf("a URL without a subscription: %s", res.Status)
		}
		cancel()
		if status := <-done; status != 0 {
			t.Errorf("status %d:\n%s", status, a.stderr)
		}
	}
}

// TestSourceShared has two processes that share a state and the copies. One of them follows the
// Source, and the other takes over when it is killed.
func TestSourceShared(t *testing.T) {
	t.Parallel()
	folder, at, state := t.TempDir(), t.TempDir(), newPostgres(t)
	write(t, filepath.Join(folder, "a.txt"), "a")
	l := startReady(t, folder, append([]string{"--websocket"}, loopback...)...)
	file := filepath.Join(at, "site.yaml")
	write(t, file, fmt.Sprintf(`listen: 127.0.0.1:0
base-url: %s
state: %s
sets:
  - name: library
    kind: source
    source: %s
    copy: %s/copies
    path: /library/
    rescan: 1h
`, publicURL, state, l.site, at))
	begin := func() *process {
		p := newRunner(t, file)
		must(t, p.Start())
		p.awaitListening()
		p.stdout.await("Ready: 1 ")
		return p
	}
	first := begin()
	first.stderr.await(`following a channel.*channel=change.*by=WebSocket`)
	second := begin()
	publishes := func(p *process, name, text string) {
		t.Helper()
		p.until(name+" is published", func() bool {
			_, list := p.get("resourcesync/library/changelist.xml")
			res, body := p.get("library/" + name)
			return strings.Contains(list, publicURL+"library/"+name) && res.StatusCode == http.StatusOK && body == text
		})
	}
	l.write("b.txt", "b")
	publishes(first, "b.txt", "b")
	publishes(second, "b.txt", "b")
	first.kill()
	l.write("c.txt", "c")
	second.stderr.await(`following a channel.*channel=change.*by=WebSocket`)
	publishes(second, "c.txt", "c")
	l.write("b.txt", "changed")
	publishes(second, "b.txt", "changed")
	second.kill()
}

// TestSourceIncomplete has a Source with a resource that fails: the set is not shown, and
// the status says why.
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
