package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// sql runs statements in the SQLite file at path.
func sql(t *testing.T, path, script string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	must(t, err)
	defer conn.Close()
	must(t, sqlitex.ExecuteScript(conn, script, nil))
}

// refused runs serve with wrong flags, and returns the line with the error.
func refused(t *testing.T, folder string, flags ...string) string {
	t.Helper()
	return failing(t, exit.Usage, append([]string{"serve", folder, "--listen", "127.0.0.1:0"}, flags...)...)
}

// failing runs a command that cannot start, and returns the line with the error.
func failing(t *testing.T, want int, args ...string) string {
	t.Helper()
	// A command that is not refused would run for ever.
	ctx, cancel := context.WithTimeout(t.Context(), needs.Patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	status := run(ctx, args, &stdout, &stderr)
	line, rest, _ := strings.Cut(stderr.String(), "\n")
	if status != want || stdout.Len() > 0 || rest != "" || !strings.HasPrefix(line, "resourcesync: ") {
		t.Errorf("status %d, stdout %q, stderr:\n%s", status, &stdout, &stderr)
	}
	return line
}

func TestRefusedStates(t *testing.T) {
	t.Parallel()
	folder, elsewhere := t.TempDir(), t.TempDir()
	path := func(name string) string { return filepath.Join(elsewhere, name) }
	write(t, filepath.Join(folder, "sub/a.txt"), "a")
	must(t, os.Symlink(filepath.Join(folder, "sub"), path("link")))
	must(t, os.Symlink(filepath.Join(folder, "state.db"), path("dangling.db")))
	write(t, path("text.db"), strings.Repeat("This is not a database. ", 1000))
	sql(t, path("others.db"), "CREATE TABLE rs_settings (name TEXT)")
	sql(t, path("newer.db"), "CREATE TABLE rs_migration (number BIGINT PRIMARY KEY); INSERT INTO rs_migration VALUES (99); CREATE TABLE rs_set (name TEXT)")
	running := startReady(t, t.TempDir(), "--state", path("running.db"))

	for name, test := range map[string]struct{ state, hint string }{
		"in the folder":     {filepath.Join(folder, "state.db"), "in the folder that is published; give a file elsewhere"},
		"below it":          {filepath.Join(folder, "sub", ".state.db"), "in the folder that is published; give a file elsewhere"},
		"through a link":    {path("link/state.db"), "in the folder that is published; give a file elsewhere"},
		"a link to nothing": {path("dangling.db"), "no such file"},
		"in no folder":      {path("none/state.db"), "make it, or give a file in another"},
		"below a file":      {path("text.db/state.db"), "not a directory"},
		"a folder":          {elsewhere, "is not a file; give another file with --state"},
		"no database":       {path("text.db"), "is not an SQLite database; give another file with --state"},
		"something else":    {path("others.db"), "is a database of another program; give another file with --state"},
		"newer":             {path("newer.db"), "use that program, or restore the backup"},
		"in use":            {path("running.db"), "is in use by another resourcesync; stop that one or wait until it has ended, or give another file with --state"},
		"another kind":      {"mysql://localhost/test", "a database of PostgreSQL as in postgres://"},
		"no server":         {"postgres://me:secret@127.0.0.1:1/db", "connection refused"},
		"not a connection":  {"postgres://me:secret@host:port/db", "--state: cannot parse"},
		"not a setting":     {"postgresql://me:secret@127.0.0.1:1/db?pool_max_conns=many", "--state: "},
		"by default":        {"", "in the folder that is published"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := folder
			if test.state == "" {
				folder = filepath.Dir(os.Getenv("XDG_CACHE_HOME")) // which the default is in
			}
			want := exit.Usage
			if name == "in use" || name == "no server" { // which may pass
				want = exit.Failed
			}
			if line := failing(t, want, "serve", folder, "--listen", "127.0.0.1:0", "--state", test.state); !strings.Contains(line, test.hint) || strings.Contains(line, "secret") {
				t.Errorf("does not say %q: %s", test.hint, line)
			}
		})
	}
	running.stop()
	for _, name := range []string{"others.db", "text.db", "link"} {
		if found, err := filepath.Glob(path(name) + "?*"); err != nil || len(found) > 0 {
			t.Errorf("left behind: %q, %v", found, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(folder, "state.db")); err == nil {
		t.Error("something was made in the folder")
	}
}

// Other users of the computer cannot read a state, which has the secrets of
// subscribers.
func TestStateIsPrivate(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state.db")
	s := startReady(t, t.TempDir(), "--state", state)
	files, err := filepath.Glob(state + "*")
	must(t, err)
	if len(files) < 3 { // with its log, and a lock
		t.Errorf("files: %q", files)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
	s.stop()
}

// If a database refuses the password, the error says so, without the password.
func TestWrongPassword(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer server.Close()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			refuseLogin(conn)
			conn.Close()
		}
	}()
	dsn := "postgres://me:secret@" + server.Addr().String() + "/db"
	if line := refused(t, t.TempDir(), "--state", dsn); !strings.Contains(line, `password authentication failed for user "me"`) || strings.Contains(line, "secret") {
		t.Error(line)
	}
	status, _, line := runTriggersCommand(t, "--db", dsn, "--set", "papers", "--table", "t", "--key", "id", "--uri", "https://example.org/{id}")
	if status != 2 || !strings.Contains(line, `password authentication failed for user "me"`) || strings.Contains(line, "secret") {
		t.Errorf("status %d: %s", status, line)
	}
}

// refuseLogin answers as PostgreSQL does to a wrong password.
func refuseLogin(conn net.Conn) {
	server := pgproto3.NewBackend(conn, conn)
	for {
		message, err := server.ReceiveStartupMessage()
		if err != nil {
			return
		}
		if _, ok := message.(*pgproto3.SSLRequest); !ok {
			break
		}
		if _, err := conn.Write([]byte("N")); err != nil {
			return
		}
	}
	server.Send(&pgproto3.AuthenticationCleartextPassword{})
	if server.Flush() != nil || server.SetAuthType(pgproto3.AuthTypeCleartextPassword) != nil {
		return
	}
	if _, err := server.Receive(); err == nil {
		server.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "28P01", Message: `password authentication failed for user "me"`})
		server.Flush()
	}
}

// Without a cache folder, --state has no default.
func TestNoCacheFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	for name, cache := range map[string]string{"none": "", "in the way": file, "nowhere": filepath.Join(file, "x")} {
		t.Setenv("HOME", "")
		t.Setenv("XDG_CACHE_HOME", cache)
		if line := refused(t, t.TempDir()); !strings.Contains(line, "no place to keep state in by default") || !strings.Contains(line, "as in --state /") {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// By default, each folder has its own state, under all names of the folder. The file
// name identifies it to people.
func TestDefaultState(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "new", "cache"))
	parent := t.TempDir()
	folder := filepath.Join(parent, "our files")
	must(t, os.MkdirAll(filepath.Join(parent, "other", "our files"), 0o755))
	must(t, os.Mkdir(folder, 0o755))
	must(t, os.Symlink(folder, filepath.Join(parent, "link")))
	t.Chdir(parent)
	place := func(given string) string {
		s := startReady(t, given)
		s.stop()
		return s.stderr.await(`state="?([^"\s]+)`)[1]
	}
	first := place(folder)
	if !regexp.MustCompile(`/new/cache/resourcesync/our_files-[0-9a-f]{12}\.db$`).MatchString(first) {
		t.Errorf("state in %s", first)
	}
	for _, same := range []string{"our files", "./our files/", "link"} {
		if got := place(same); got != first {
			t.Errorf("%s: state in %s, want %s", same, got, first)
		}
	}
	if got := place("other/our files"); got == first {
		t.Errorf("two folders have their state in %s", got)
	}
	for given, want := range map[string]string{"/": "_-", "/" + strings.Repeat("long", 60): strings.Repeat("long", 12) + "lo-"} {
		if got, err := state.FolderFile(given); err != nil || !strings.HasPrefix(filepath.Base(got), want) {
			t.Errorf("%s: %s, %v", given, got, err)
		}
	}
}

// The value of --state is used, and a second start finds the state.
func TestGivenState(t *testing.T) {
	t.Parallel()
	for name, newState := range states {
		t.Run(name, func(t *testing.T) {
			folder := sampleFolder(t)
			flags := []string{"--state", newState(t), "--base-url", publicURL}
			s := startReady(t, folder, flags...)
			first := s.documents()
			s.stop()
			s = startReady(t, folder, flags...)
			for path, document := range s.documents() {
				if document != first[path] {
					t.Errorf("%s was\n%s\nis\n%s", path, first[path], document)
				}
			}
			if strings.Contains(s.stderr.String(), "postgres@") {
				t.Errorf("the log has the whole address of the database:\n%s", s.stderr)
			}
		})
	}
}

// The journal drops whole windows of --window that are older than --retain.
func TestWindowAndRetain(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	s := startReady(t, t.TempDir(), "--window", "1s", "--retain", "1s", "--rescan", "1s")
	from := func() string { return s.document(s.capabilities()["changelist"], "changelist").Metadata.From }
	first := from()
	s.until("the journal begins later", func() bool {
		s.write("a", time.Now().String())
		return from() > first
	})
}

// With --archive, Change Lists that the journal has dropped keep their URLs, and the
// archive lists them.
func TestD9_ServeArchive(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	s := startReady(t, t.TempDir(), "--window", "1s", "--retain", "1s", "--archive", "1d", "--rescan", "1s", "--page-size", "1")
	archived := func() []entry { return s.list("changelist-archive") }
	s.until("a list is archived", func() bool {
		s.write("a", time.Now().String())
		return len(archived()) > 0
	})
	for _, e := range archived() {
		if d := s.document(e.Loc, "changelist"); len(d.Entries) != 1 || d.Metadata.From != e.Metadata.From {
			t.Errorf("%s: %+v", e.Loc, d)
		}
	}
}
