package pgstore_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pgtest"
	"github.com/resourcesync-go/resourcesync/internal/rowdb/pgdb"
)

// pooler returns the path of PgBouncer.
func pooler(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer"
		if _, err := os.Stat(program); err != nil {
			needs.Skip(t, "pgbouncer is not installed")
		}
	}
	return program
}

// startPooler starts a PgBouncer in front of a server, and returns the URL of the database there.
func startPooler(t *testing.T, program string, server *pgtest.Server, settings string) string {
	t.Helper()
	address := needs.Address(t)
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	folder, err := os.MkdirTemp("", "pooler")
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(folder)) })
	must(t, os.Chmod(folder, 0o755))
	file := filepath.Join(folder, "pgbouncer.ini")
	must(t, os.WriteFile(file, fmt.Appendf(nil, "[databases]\npostgres = host=127.0.0.1 port=%d user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\nignore_startup_parameters = extra_float_digits\n%s",
		server.Port, port, settings), 0o644))
	c := exec.Command(program, file)
	c.SysProcAttr = server.Attributes() // it refuses to run as root
	must(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	await(t, "the pooler", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "postgres://postgres@" + address + "/postgres?pool_max_conns=4"
}

// TestPooler: a store behind a pooler of sessions works, and one behind a pooler of transactions is
// refused, whichever session it gives to whom.
func TestPooler(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	program := pooler(t)
	server := pgtest.Start(t)
	for i, tt := range []struct {
		settings string
		refused  bool
	}{
		{"pool_mode = session\n", false},
		{"pool_mode = transaction\n", true},
		{"pool_mode = transaction\nserver_round_robin = 1\n", true},
		{"pool_mode = transaction\ndefault_pool_size = 1\n", true},
		{"pool_mode = transaction\nserver_round_robin = 1\nmin_pool_size = 3\n", true},
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			pool, err := pgxpool.New(t.Context(), startPooler(t, program, server, tt.settings))
			must(t, err)
			defer pool.Close()
			store, err := pgstore.Open(t.Context(), pool, nil)
			if refused := errors.Is(err, pgdb.ErrTransactionPooler); refused != tt.refused || !refused && err != nil {
				t.Fatalf("%q: %v", tt.settings, err)
			}
			if err != nil {
				return
			}
			set, err := store.Set(t.Context(), "papers", nil)
			must(t, err)
			must(t, set.Put(t.Context(), resourcesync.Resource{Key: "a", URI: "https://example.org/a"}))
			must(t, store.Close())
		})
	}
}
