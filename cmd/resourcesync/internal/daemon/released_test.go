package daemon

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"weak"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A replacedPart is a part that a reload replaces, and whether it is still in memory.
type replacedPart struct {
	what  string
	lives func() bool
}

// watchReplaced returns the parts of a publication that the next reload replaces: all except
// the members in kept.
func watchReplaced(p *publication, kept string) []replacedPart {
	at := time.Now().Format(time.TimeOnly)
	var parts []replacedPart
	source, whole := weak.Make[rshttp.Source](p.source), weak.Make(p)
	parts = append(parts,
		replacedPart{"Source of " + at, func() bool { return source.Value() != nil }},
		replacedPart{"publication of " + at, func() bool { return whole.Value() != nil }})
	for _, m := range p.members {
		if m.Name != kept {
			of := weak.Make(m)
			parts = append(parts, replacedPart{"set " + m.Name + " of " + at, func() bool { return of.Value() != nil }})
		}
	}
	return parts
}

// TestReloadReleases: replaced parts are freed, even while WebSockets to them are open, and
// these continue to receive notifications.
func TestReloadReleases(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "kept/a.txt"), "a")
	write(t, filepath.Join(folder, "changed/a.txt"), "a")
	file := filepath.Join(t.TempDir(), "site.yaml")
	configure := func(version int) {
		write(t, file, fmt.Sprintf(`listen: 127.0.0.1:0
state: %[1]s/state.db
websocket: true
page-size: %[2]d
sets:
  - {name: kept, kind: folder, folder: %[3]s/kept, path: /kept/}
  - {name: changed, kind: folder, folder: %[3]s/changed, path: /changed/, max-delete: %[4]d%%}
`, filepath.Dir(file), 1000+version, folder, 20+version))
	}
	configure(0)
	ctx, cancel := context.WithCancel(t.Context())
	p, site, reloads, wait := startDaemon(t, ctx, file)
	defer wait()
	defer cancel()

	sockets := map[string]*websocket.Conn{}
	for _, set := range []string{"kept", "changed"} {
		sockets[set] = dialSocket(t, site+"resourcesync/"+set+"/change/websocket")
	}
	var replaced []replacedPart
	for version := 1; version <= 5; version++ {
		replaced = append(replaced, watchReplaced(p.now.Load(), "kept")...)
		configure(version)
		reloads <- syscall.SIGHUP
		for deadline := time.Now().Add(needs.Patience); p.now.Load().site.PageSize != 1000+version; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("not reloaded")
			}
		}
	}
	for deadline := time.Now().Add(needs.Patience); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		var left []string
		for _, part := range replaced {
			if part.lives() {
				left = append(left, part.what)
			}
		}
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d are still in memory:\n%s", len(left), len(replaced), strings.Join(left, "\n"))
		}
	}
	for set, conn := range sockets {
		write(t, filepath.Join(folder, set, "b.txt"), "b")
		reading, cancel := context.WithTimeout(t.Context(), time.Minute)
		_, message, err := conn.Read(reading)
		cancel()
		if err != nil || !strings.Contains(string(message), site+set+"/b.txt") {
			t.Errorf("%s: %v\n%s", set, err, message)
		}
		conn.CloseNow() // the daemon would wait for the end of a client that does not read
	}
}

// startDaemon runs a configuration file in this process until ctx ends, which wait awaits. The
// site is ready.
func startDaemon(t *testing.T, ctx context.Context, file string) (p *daemon, address string, reloads chan<- os.Signal, wait func()) {
	load := func() (*site.Config, error) { return site.Load(file, nil) }
	c, err := load()
	must(t, err)
	listener, err := listen(c)
	must(t, err)
	log := slog.New(slog.DiscardHandler)
	st, err := c.OpenState(ctx, log)
	must(t, err)
	p, err = newDaemon(c, st, terminal.New(io.Discard), log)
	must(t, err)
	p.stdout = io.Discard
	first, err := newPublication(ctx, p, c, nil)
	must(t, err)
	first.derived = true
	p.now.Store(first)
	signals, done := make(chan os.Signal), make(chan error, 1)
	go func() { done <- p.run(ctx, listener, nil, signals, load) }()
	for !first.members[0].isReady.Load() || !first.members[1].isReady.Load() {
		time.Sleep(time.Millisecond)
	}
	return p, c.BaseURL, signals, func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
		p.now.Load().close()
		must(t, st.Close())
	}
}
