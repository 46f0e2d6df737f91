package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
)

// TestRemedies: the last line of a process that cannot run says what to do about it.
func TestRemedies(t *testing.T) {
	in := t.TempDir()
	path := func(name string) string { return filepath.Join(in, name) }
	write(t, path("files/a.txt"), "a")
	write(t, path("empty"), "")
	write(t, path("closed"), "a secret")
	must(t, os.Mkdir(path("shut"), 0))
	must(t, os.Chmod(path("closed"), 0))
	state := "state: " + path("state.db")
	for name, test := range map[string]struct{ settings, want string }{
		"YAML":             {state + "\nlisten: [", `is not YAML: line 2: did not find expected ',' or ']'; correct that line or the one before, and try "resourcesync check-config"`},
		"no secret":        {"ping-token-file: " + path("none"), "no such file or directory; make the file, or correct the path"},
		"empty secret":     {"ping-token-file: " + path("empty"), "is empty; write the secret into it"},
		"secret folder":    {"ping-token-file: " + path("files"), "is a directory; give a file in that folder"},
		"closed secret":    {"ping-token-file: " + path("closed"), "permission denied; let the user of this process read the file"},
		"no certificate":   {state + "\ntls-cert: " + path("none") + "\ntls-key: " + path("none"), "no such file or directory; make the file, or correct the path"},
		"bad certificate":  {state + "\ntls-cert: " + path("empty") + "\ntls-key: " + path("empty"), "give a certificate chain and its private key, both as PEM"},
		"database":         {"base-url: http://a.example/\nstate: postgres://me:secret@127.0.0.1:1/db", "connection refused; is the database running, and does it accept connections of this computer? Start it, or correct its address"},
		"closed state":     {"state: " + path("shut/state.db"), "permission denied; let this user read and write the file"},
		"folder of states": {"state: " + path("none/state.db"), "there is no folder"},
	} {
		if strings.HasPrefix(name, "closed") && os.Getuid() == 0 {
			continue // who reads everything
		}
		write(t, path("site.yaml"), fmt.Sprintf("listen: 127.0.0.1:0\n%s\nsets: [{name: papers, kind: folder, folder: %s}]\n", test.settings, path("files")))
		want := exit.Usage
		if name == "database" {
			want = exit.Failed
		}
		line := failing(t, want, "run", path("site.yaml"))
		if !strings.Contains(line, test.want) || strings.Contains(line, "secret@") || strings.Count(line, "connection refused") > 1 {
			t.Errorf("%s:\n got %s\nwant %s", name, line, test.want)
		}
	}
	if line := failing(t, exit.Usage, "run", path("none.yaml")); !strings.Contains(line, "no such file or directory; make the file, or correct the path") {
		t.Error(line)
	}
}

// TestNoDatabase: a server that has no database of the given name does not have to be started.
func TestNoDatabase(t *testing.T) {
	for _, err := range []error{&mysql.MySQLError{Number: 1049, Message: "Unknown database 'a'"}, &pgconn.PgError{Code: "3D000", Message: "database \"a\" does not exist"}} {
		if text := exit.OfDatabase(fmt.Errorf("table: %w", err)).Error(); !strings.HasSuffix(text, "; name a database of this server in its address") {
			t.Error(text)
		}
	}
}

// TestNoRoomForState: if the disk has no room for the state, the error says so.
func TestNoRoomForState(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("ulimit -f")
	}
	program, err := os.Executable()
	must(t, err)
	folder, state := t.TempDir(), filepath.Join(t.TempDir(), "state.db")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `ulimit -f 64; exec "$0" serve "$1" --listen 127.0.0.1:0 --state "$2"`, program, folder, state)
	cmd.Env = append(os.Environ(), beMain+"=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	_ = cmd.Run()
	if status := cmd.ProcessState.ExitCode(); status != exit.Failed || !strings.Contains(stderr.String(), "check the disk, and the limit for the size of files (ulimit -f)") {
		t.Errorf("status %d: %s", status, &stderr)
	}
}
