package daemon

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file, and creates its folder.
func write(t testing.TB, path, body string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(body), 0o644))
}

// configOf returns the configuration of a command with these arguments.
func configOf(t testing.TB, command string, args ...string) *site.Config {
	t.Helper()
	if command == "run" {
		top := new(settings.Catalog)
		site.Declare(top, new(site.Config), new(origin.Common))
		c, err := site.Load(args[0], []settings.Layer{top.Environment()})
		must(t, err)
		return c
	}
	k := origin.Kinds[slices.IndexFunc(origin.Kinds, func(k origin.Kind) bool { return k.Command == command })]
	set := k.Create()
	set.Shared().Kind = k.Name
	c := site.New(set)
	given, _, err := c.Catalog.Parse(args)
	must(t, err)
	must(t, c.Catalog.Apply(given, c.Catalog.Environment()))
	must(t, c.Check())
	return c
}

// openPublication opens the publication of a command, until done is called. Nothing runs.
func openPublication(t testing.TB, command string, args ...string) (p *publication, done func()) {
	t.Helper()
	c, log := configOf(t, command, args...), slog.New(slog.DiscardHandler)
	st, err := c.OpenState(t.Context(), log)
	must(t, err)
	of, err := newDaemon(c, st, terminal.New(io.Discard), log)
	must(t, err)
	of.stdout = io.Discard
	p, err = newPublication(t.Context(), of, c, nil)
	must(t, err)
	of.now.Store(p)
	p.reserve()
	done = sync.OnceFunc(func() {
		p.close()
		must(t, st.Close())
	})
	t.Cleanup(done)
	return p, done
}

// scanned scans the sets of a publication.
func scanned(t testing.TB, p *publication) {
	t.Helper()
	for _, m := range p.members {
		_, err := m.Scanned.Update(t.Context())
		must(t, err)
		m.show(t.Context())
	}
}

// dialSocket opens a WebSocket as soon as there is one.
func dialSocket(t *testing.T, uri string) *websocket.Conn {
	t.Helper()
	for until := time.Now().Add(needs.Patience); ; time.Sleep(10 * time.Millisecond) {
		conn, res, err := websocket.Dial(t.Context(), uri, nil)
		if err != nil && res != nil && res.StatusCode == http.StatusServiceUnavailable && time.Now().Before(until) {
			continue
		}
		must(t, err)
		t.Cleanup(func() { conn.CloseNow() })
		return conn
	}
}
