// Package pgtest starts PostgreSQL servers for single tests, which can be killed, replicated and
// promoted.
package pgtest

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A Server is a PostgreSQL that only one test uses.
type Server struct {
	Port    int
	t       testing.TB
	folder  string
	bin     string
	as      *syscall.SysProcAttr
	process *exec.Cmd
	ended   chan struct{}
	pool    *pgxpool.Pool
}

// Start starts a server that standbys can follow. The test is skipped if no server is installed.
func Start(t testing.TB) *Server {
	t.Helper()
	s := newServer(t)
	s.copyFresh()
	s.Restart()
	return s
}

// fresh has the data of a new server, as long as a test of this process has a server that was started
// with a copy. A copy takes less time than initdb.
var fresh struct {
	sync.Mutex
	folder string
	users  int
}

// copyFresh gives s the data of a new server, with a system identifier of its own.
func (s *Server) copyFresh() {
	s.t.Helper()
	fresh.Lock()
	defer fresh.Unlock()
	if fresh.users == 0 {
		var err error
		fresh.folder, err = os.MkdirTemp("", "fresh")
		must(s.t, err)
		s.own(fresh.folder)
		s.run("initdb", "--no-sync", "--wal-segsize=1", "-A", "trust", "-U", "postgres", "-D", fresh.folder)
	}
	fresh.users++
	s.t.Cleanup(func() {
		fresh.Lock()
		defer fresh.Unlock()
		if fresh.users--; fresh.users == 0 {
			must(s.t, os.RemoveAll(fresh.folder))
		}
	})
	must(s.t, os.CopyFS(s.data(), os.DirFS(fresh.folder)))
	must(s.t, os.Chmod(s.data(), 0o700))
	s.renew()
	must(s.t, filepath.WalkDir(s.data(), func(path string, _ fs.DirEntry, err error) error {
		s.own(path)
		return err
	}))
	s.run("pg_resetwal", "--force", "-D", s.data()) // the log has the system identifier too
}

// renew changes the system identifier, with which the control file begins. The checksum is behind what
// it is of.
func (s *Server) renew() {
	s.t.Helper()
	path := filepath.Join(s.data(), "global", "pg_control")
	control, err := os.ReadFile(path)
	must(s.t, err)
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	for n := 8; n+4 <= len(control); n += 4 {
		if crc32.Checksum(control[:n], castagnoli) == binary.NativeEndian.Uint32(control[n:]) {
			binary.NativeEndian.PutUint64(control, rand.Uint64()>>1)
			binary.NativeEndian.PutUint32(control[n:], crc32.Checksum(control[:n], castagnoli))
			must(s.t, os.WriteFile(path, control, 0o600))
			return
		}
	}
	s.t.Fatal("the control file has no checksum")
}

func newServer(t testing.TB) *Server {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	must(t, err)
	if len(found) == 0 {
		path, err := exec.LookPath("initdb")
		if err != nil {
			needs.Skip(t, "initdb is not installed")
		}
		found = []string{path}
	}
	s := &Server{t: t, bin: filepath.Dir(slices.Max(found)), as: new(syscall.SysProcAttr)}
	s.folder, err = os.MkdirTemp("", "server") // a short path, for the name of a socket
	must(t, err)
	t.Cleanup(func() {
		s.Kill()
		must(t, os.RemoveAll(s.folder))
	})
	s.leaveRoot()
	s.own(s.folder)
	address, err := net.ResolveTCPAddr("tcp", needs.Address(t))
	must(t, err)
	s.Port = address.Port
	s.pool, err = pgxpool.New(context.WithoutCancel(t.Context()), fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", s.Port))
	must(t, err)
	t.Cleanup(s.pool.Close)
	return s
}

// Attributes returns the attributes of the server's processes, for a program that must not run as root either.
func (s *Server) Attributes() *syscall.SysProcAttr { return s.as }

func (s *Server) data() string { return filepath.Join(s.folder, "data") }

// run runs a program of PostgreSQL.
func (s *Server) run(name string, args ...string) {
	s.t.Helper()
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.SysProcAttr, c.Dir = s.as, "/"
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// Restart starts the server again, and waits until it answers.
func (s *Server) Restart() {
	s.t.Helper()
	for until := time.Now().Add(needs.Patience); time.Now().Before(until); {
		log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		must(s.t, err)
		// A commit survives the server, not the system.
		s.process = exec.Command(filepath.Join(s.bin, "postgres"), "-D", s.data(), "-p", strconv.Itoa(s.Port), "-k", s.folder,
			"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "wal_level=replica", "-c", "hot_standby=on", "-c", "wal_keep_size=64MB")
		s.process.SysProcAttr, s.process.Dir, s.process.Stdout, s.process.Stderr = s.as, "/", log, log
		must(s.t, s.process.Start())
		log.Close()
		s.ended = make(chan struct{})
		go func(c *exec.Cmd, ended chan struct{}) { c.Wait(); close(ended) }(s.process, s.ended)
		for alive := true; alive && time.Now().Before(until); {
			if _, err := s.try("SELECT 1"); err == nil {
				return
			}
			select {
			case <-s.ended: // processes of a killed server may delay it for a moment
				alive = false
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
	text, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	s.t.Fatalf("the server does not start:\n%s", text)
}

// Kill ends the server as a crash would.
func (s *Server) Kill() {
	if s.process != nil {
		_ = s.process.Process.Kill()
		<-s.ended
		s.process = nil
		s.pool.Reset()
	}
}

// Standby starts a standby that follows s.
func (s *Server) Standby() *Server {
	s.t.Helper()
	b := newServer(s.t)
	b.Follow(s)
	return b
}

// Follow starts a stopped server as a standby of primary. The server loses its data.
func (s *Server) Follow(primary *Server) {
	s.t.Helper()
	must(s.t, os.RemoveAll(s.data()))
	s.run("pg_basebackup", "-h", "127.0.0.1", "-p", strconv.Itoa(primary.Port), "-U", "postgres", "-D", s.data(), "-X", "stream", "--checkpoint=fast", "--no-sync", "-R")
	s.Restart()
}

// Synchronous says whether a commit waits until it is on the disk of a standby.
func (s *Server) Synchronous(on bool) {
	s.t.Helper()
	standbys := ""
	if on {
		standbys = "*"
	}
	s.Exec("ALTER SYSTEM SET synchronous_standby_names = '" + standbys + "'")
	s.Exec("SELECT pg_reload_conf()")
}

// Cut ends the replication to a standby, and Promote makes it the primary.
func (s *Server) Cut() {
	s.t.Helper()
	s.Exec("ALTER SYSTEM SET primary_conninfo = ''")
	s.Exec("SELECT pg_reload_conf()")
	for s.Exec("SELECT count(*) FROM pg_stat_wal_receiver") != "0" {
		time.Sleep(10 * time.Millisecond)
	}
}

// Promote makes a standby the primary.
func (s *Server) Promote() {
	s.t.Helper()
	s.run("pg_ctl", "promote", "-w", "-D", s.data())
}

// CaughtUp waits until a standby has everything that s has.
func (s *Server) CaughtUp(standby *Server) {
	s.t.Helper()
	position := s.Exec("SELECT pg_current_wal_insert_lsn()::text")
	for until := time.Now().Add(needs.Patience); standby.Exec("SELECT (pg_last_wal_replay_lsn() >= '"+position+"')::text") != "true"; {
		if time.Now().After(until) {
			s.t.Fatal("the standby does not catch up")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Address returns the URL of the database in the first server that is a primary.
func Address(servers ...*Server) string {
	hosts := ""
	for _, s := range servers {
		hosts += fmt.Sprintf(",127.0.0.1:%d", s.Port)
	}
	return "postgres://postgres@" + hosts[1:] + "/postgres?target_session_attrs=read-write"
}

// Exec runs a statement and returns the text of its first column.
func (s *Server) Exec(sql string) string {
	s.t.Helper()
	text, err := s.try(sql)
	must(s.t, err)
	return text
}

func (s *Server) try(sql string) (text string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), needs.Patience)
	defer cancel()
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	results, err := conn.Conn().PgConn().Exec(ctx, sql).ReadAll()
	if err == nil && len(results[0].Rows) > 0 {
		text = string(results[0].Rows[0][0])
	}
	return text, err
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
