package main

import (
	gosql "database/sql"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A databaseServer is a server for a single test, which can be killed.
type databaseServer struct {
	t       *testing.T
	command []string
	as      *syscall.SysProcAttr
	db      *gosql.DB
	log     string
	process *exec.Cmd
}

// serverProgram returns the path of a program of a database server.
func serverProgram(t *testing.T, name, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	must(t, err)
	if path, err := exec.LookPath(name); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 {
		needs.Skip(t, name, "is not installed")
	}
	return slices.Max(found)
}

// newDatabaseServer creates a folder for a server. The server runs as another user,
// because it refuses to run as root.
func newDatabaseServer(t *testing.T, name string) (s *databaseServer, folder string, port int) {
	t.Helper()
	s = &databaseServer{t: t, as: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	folder, err := os.MkdirTemp("", "server") // a short path, for the name of a socket
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(folder)) })
	s.log = filepath.Join(folder, "log")
	if os.Geteuid() == 0 {
		u, err := user.Lookup(name)
		if err != nil {
			needs.Skip(t, err)
		}
		uid, err := strconv.Atoi(u.Uid)
		must(t, err)
		gid, err := strconv.Atoi(u.Gid)
		must(t, err)
		must(t, os.Chown(folder, uid, gid))
		s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	address, err := net.ResolveTCPAddr("tcp", needs.Address(t))
	must(t, err)
	return s, folder, address.Port
}

// install runs the program that initializes the folder of a server. It skips the test if the
// installation is incomplete.
func (s *databaseServer) install(program string, args ...string) {
	s.t.Helper()
	c := exec.CommandContext(s.t.Context(), program, args...)
	c.SysProcAttr, c.Dir = s.as, "/"
	if out, err := c.CombinedOutput(); err != nil {
		needs.Skip(s.t, fmt.Sprintf("%s: %v\n%s", program, err, out))
	}
}

// start starts the server and waits until it answers. Processes of a killed server may
// delay it for a moment.
func (s *databaseServer) start() {
	s.t.Helper()
	for until := time.Now().Add(needs.Patience); time.Now().Before(until); {
		log, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		must(s.t, err)
		s.process = exec.Command(s.command[0], s.command[1:]...)
		s.process.SysProcAttr, s.process.Dir, s.process.Stdout, s.process.Stderr = s.as, "/", log, log
		must(s.t, s.process.Start())
		log.Close()
		ended := make(chan struct{})
		go func() { s.process.Wait(); close(ended) }()
		for alive := true; alive && time.Now().Before(until); {
			if s.db.PingContext(s.t.Context()) == nil {
				return
			}
			select {
			case <-ended:
				alive = false
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	text, _ := os.ReadFile(s.log)
	s.t.Fatalf("the server does not start:\n%s", text)
}

// kill ends the server as a crash would.
func (s *databaseServer) kill() { must(s.t, s.process.Process.Kill()) }

// startMariaDB starts a MariaDB with an empty database, and returns its table engine.
func startMariaDB(t *testing.T) (*databaseServer, *tableEngine) {
	program, install := serverProgram(t, "mariadbd", "/usr/sbin/mariadbd"), serverProgram(t, "mariadb-install-db", "")
	s, folder, port := newDatabaseServer(t, "mysql")
	data := filepath.Join(folder, "data")
	s.install(install, "--no-defaults", "--auth-root-authentication-method=normal", "--datadir="+data)
	s.command = []string{program, "--no-defaults", "--datadir=" + data, "--bind-address=127.0.0.1", "--port=" + strconv.Itoa(port), "--socket=" + filepath.Join(folder, "socket"),
		"--innodb-flush-log-at-trx-commit=2", "--innodb-log-file-size=8M"} // a commit survives the server, not the system
	return s, &tableEngine{
		name: "mysql", flag: fmt.Sprintf("mysql://root@127.0.0.1:%d/test", port), state: filepath.Join(t.TempDir(), "state.db"),
		dsn: [2]string{"mysql", fmt.Sprintf("root@tcp(127.0.0.1:%d)/test?collation=utf8mb4_bin", port)},
	}
}

// startPostgres does the same with PostgreSQL, which also stores the state.
func startPostgres(t *testing.T) (*databaseServer, *tableEngine) {
	initdb := serverProgram(t, "initdb", "/usr/lib/postgresql/*/bin/initdb")
	s, folder, port := newDatabaseServer(t, "postgres")
	data := filepath.Join(folder, "data")
	s.install(initdb, "--no-sync", "-A", "trust", "-U", "postgres", "-D", data)
	s.command = []string{filepath.Join(filepath.Dir(initdb), "postgres"), "-D", data, "-p", strconv.Itoa(port), "-k", folder, "-c", "listen_addresses=127.0.0.1",
		"-c", "fsync=off"} // a commit survives the server, not the system
	address := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", port)
	return s, &tableEngine{name: "postgres", flag: address, state: address, dsn: [2]string{"pgx", address}}
}

// TestTableServerKilled kills the server of the database while a table is written to and
// published. The publisher reports this in its log and by healthz, and reconnects by
// itself. In the end, the replica equals the table, and nothing has been published twice or
// out of order. Everyday runs have PostgreSQL alone.
func TestTableServerKilled(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	kills, changes := sizeFrom("RESOURCESYNC_KILLS", 1), sizeFrom("RESOURCESYNC_TORTURE", needs.Size(200, 1000))
	for _, engine := range []struct {
		name  string
		start func(*testing.T) (*databaseServer, *tableEngine)
	}{{"postgres", startPostgres}, {"mariadb", startMariaDB}}[:needs.Size(1, 2)] {
		t.Run(engine.name, func(t *testing.T) {
			server, e := engine.start(t)
			var err error
			e.db, err = gosql.Open(e.dsn[0], e.dsn[1])
			must(t, err)
			server.db = e.db
			server.start()
			t.Cleanup(func() {
				e.db.Close()
				server.kill()
			})
			e.exec(t, createPosts)
			s := startTableStorm(t, e, changes, true) // so that it writes when the server is killed
			healthz := func(want int) {
				t.Helper()
				for until := time.Now().Add(needs.Patience); ; time.Sleep(50 * time.Millisecond) {
					res, err := http.Get(s.publisher.site + "resourcesync/healthz")
					must(t, err)
					res.Body.Close()
					if res.StatusCode == want {
						return
					}
					if time.Now().After(until) {
						t.Fatalf("healthz does not answer %d\n%s", want, s.publisher.stderr)
					}
				}
			}
			for i := range kills {
				s.follow()
				server.kill()
				if s.writer.Wait() == nil {
					t.Error("the writer has not noticed that the server was killed")
				}
				healthz(http.StatusServiceUnavailable)
				server.start()
				if i == kills-1 {
					s.changes, s.endless = s.committed()+changes/2, false
				}
				s.write()
				healthz(http.StatusOK)
				s.publisher.stderr.awaitMore("unhealthy.*(refused|connection|EOF)", i+1)
				s.publisher.stderr.awaitMore("healthy again", i+1)
			}
			s.finish()
		})
	}
}
