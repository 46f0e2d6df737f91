//go:build unix

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// startAsNobody serves folder in a process without privileges, which can read only
// files that everyone may read.
func startAsNobody(t *testing.T, home, folder string, flags ...string) *process {
	t.Helper()
	if os.Geteuid() != 0 {
		return startProcess(t, folder, flags...)
	}
	const nobody = 65534
	must(t, os.Chown(home, nobody, nobody))
	program := filepath.Join(home, "resourcesync")
	copyProgram(t, program)
	p := newProcess(t, program, folder, flags...)
	p.Env = append(p.Env, "HOME="+home, "TMPDIR="+home)
	p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	must(t, p.Start())
	p.awaitListening()
	return p
}

func copyProgram(t *testing.T, path string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	from, err := os.Open(self)
	must(t, err)
	defer from.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o755)
	must(t, err)
	_, err = io.Copy(to, from)
	must(t, err)
	must(t, to.Close())
}

// TestD10_UnreadableFolder removes the permission to read a folder with 99 files, and
// one that has never been read. No deletions are published, and operators see the
// problem.
func TestD10_UnreadableFolder(t *testing.T) {
	t.Parallel()
	home, err := os.MkdirTemp("", "nobody")
	must(t, err)
	defer os.RemoveAll(home)
	must(t, os.Chmod(home, 0o755))
	folder := filepath.Join(home, "folder")
	for i := range 99 {
		write(t, filepath.Join(folder, "sub", "below", fmt.Sprint(i)), "a")
	}
	write(t, filepath.Join(folder, "one"), "a")
	write(t, filepath.Join(folder, "lost", "found"), "a")
	must(t, os.Chmod(filepath.Join(folder, "lost"), 0))
	p := startAsNobody(t, home, folder, "--state", filepath.Join(home, "state.db"), "--status", "127.0.0.1:0", "--rescan", "1s")
	p.stdout.await(`Ready: 100 files`)
	if code, now := p.toldOperators(); code != 200 {
		t.Errorf("a folder that has never been read is a problem: %d %v", code, now.Problems)
	}

	must(t, os.Chmod(filepath.Join(folder, "sub"), 0))
	p.stderr.await(`resources that cannot be read stay listed as they were" resources=99`)
	p.until("two more scans have been", func() bool {
		_, now := p.toldOperators()
		return now.Scan.Unreadable == 99
	})
	code, now := p.toldOperators()
	if code != 503 || now.Scan.Skipped != 2 || !strings.Contains(strings.Join(now.Problems, " "), "parts of the set cannot be read: 99 resources stay listed as they were, at least since ") || !strings.Contains(now.Problems[0], `such as dir: "sub": `) {
		t.Errorf("%d %+v %v", code, now.Scan, now.Problems)
	}
	if res, body := p.get("resourcesync/healthz"); res.StatusCode != 503 || !strings.Contains(body, "parts of the set cannot be read\n") {
		t.Errorf("%s %q", res.Status, body)
	}
	if n := strings.Count(p.stderr.String(), "dir: skipped"); n != 2 {
		t.Errorf("%d lines about two folders:\n%s", n, p.stderr)
	}

	must(t, os.Remove(filepath.Join(folder, "one"))) // what can be read goes on
	must(t, os.Chmod(filepath.Join(folder, "sub"), 0o755))
	if got := p.awaitChanges(1); len(got) != 1 || got[0] != "deleted one" {
		t.Errorf("changes: %q", got)
	}
	p.stderr.await(`resources that cannot be read stay listed as they were" resources=0`)
	p.until("the process is healthy", func() bool {
		code, _ := p.toldOperators()
		return code == 200
	})
}
