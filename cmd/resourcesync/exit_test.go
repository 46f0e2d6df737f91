package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
)

// TestExitStatuses: errors that a restart may solve exit with 1, and errors that somebody
// must correct first exit with 2, for all commands and all sources of a setting.
func TestExitStatuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	configure := func(set string) []string {
		file := filepath.Join(t.TempDir(), "site.yaml")
		write(t, file, fmt.Sprintf("listen: 127.0.0.1:0\nstate: %s\nsets:\n  - {name: papers, %s}\n", filepath.Join(t.TempDir(), "state.db"), set))
		return []string{"run", file}
	}
	const server = "mysql://me:secret@127.0.0.1:1/db"
	cms := filepath.Join(t.TempDir(), "cms.db")
	sql(t, cms, createPosts)
	for _, test := range []struct {
		name string
		args []string
		want int
		hint string
	}{
		{"port in use", []string{"serve", folder, "--listen", taken.Addr().String()}, 1, "address already in use"},
		{"port of status in use", []string{"serve", folder, "--listen", "127.0.0.1:0", "--status", taken.Addr().String()}, 1, "address already in use"},
		{"no such host", []string{"serve", folder, "--listen", "nowhere.invalid:0"}, 1, "--listen"},
		{"no such folder", []string{"serve", filepath.Join(folder, "none")}, 2, "there is no folder"},
		{"bad URL", []string{"serve", folder, "--described-by", "http://example.org/%zz"}, 2, "--described-by"},
		{"database in a file", configure("kind: table, db: '" + server + "', table: posts, key: id, uri: 'https://example.org/{id}'"), 1, "set papers: "},
		{"no table", configure("kind: table, db: " + cms + ", table: none, key: id, uri: 'https://example.org/{id}'"), 2, `site.yaml:4: table "none"`},
		{"no folder in a file", configure("kind: folder, folder: " + filepath.Join(folder, "none")), 2, `site.yaml:4: folder "`},
		{"nothing to check", []string{"check", "http://127.0.0.1:1/", "--allow-addresses", "127.0.0.0/8"}, 2, "refused"},
		{"no status", []string{"status", "127.0.0.1:1"}, 1, "refused"},
	} {
		if line := failing(t, test.want, test.args...); !strings.Contains(line, test.hint) || strings.Contains(line, "secret") {
			t.Errorf("%s: %s", test.name, line)
		}
	}
}

// TestUnitDoesNotRestartWrongConfigurations: systemd restarts the program, but not after the
// exit status of a wrong configuration.
func TestUnitDoesNotRestartWrongConfigurations(t *testing.T) {
	unit := read(t, "../../deploy/resourcesync.service")
	mirror := read(t, "../../deploy/resourcesync-mirror.service")
	for _, line := range []string{"Restart=on-failure", fmt.Sprintf("RestartPreventExitStatus=%d", exit.Usage)} {
		if !strings.Contains(unit, "\n"+line+"\n") || !strings.Contains(mirror, "\n"+line+"\n") {
			t.Errorf("the unit has no line %s", line)
		}
	}
}
