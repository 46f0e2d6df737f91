package main

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A process serves a folder and can be killed.
type process struct {
	*served
	*exec.Cmd
}

// startProcess serves folder and waits until the listener is open.
func startProcess(t testing.TB, folder string, flags ...string) *process {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	p := newProcess(t, program, folder, flags...)
	must(t, p.Start())
	p.awaitListening()
	return p
}

// newProcess returns a process that will serve folder. It has not been started.
func newProcess(t testing.TB, program, folder string, flags ...string) *process {
	p := &process{
		served: &served{t: t, folder: folder, stdout: newOutput(t), stderr: newOutput(t)},
		Cmd:    exec.CommandContext(t.Context(), program, append([]string{"serve", "--listen", "127.0.0.1:0", folder}, flags...)...),
	}
	p.Env = append(os.Environ(), beMain+"=1")
	p.Stdout, p.Stderr = p.stdout, p.stderr
	return p
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.t.Helper()
	must(p.t, p.Process.Kill())
	if p.Wait() == nil {
		p.t.Error("a process that was killed ended well")
	}
}

// postgres names the variable with the database for tests, each of which uses its own
// schema. If it is not set, tests skip what needs PostgreSQL.
const postgres = "RESOURCESYNC_TEST_POSTGRES"

// states are the kinds of --state, each with a function that returns an empty one.
var states = map[string]func(t *testing.T) string{
	"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "state.db") },
	"postgres": newPostgres,
}

func newPostgres(t *testing.T) string {
	server := needs.Variable(t, postgres)
	u, err := url.Parse(server)
	must(t, err)
	schema := "serve_" + strings.ToLower(rand.Text())
	execute := func(statement string) {
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, server)
		must(t, err)
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, statement)
		must(t, err)
	}
	execute("CREATE SCHEMA " + schema)
	t.Cleanup(func() { execute("DROP SCHEMA " + schema + " CASCADE") })
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return u.String()
}
