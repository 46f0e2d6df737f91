//go:build unix

package pgtest

import (
	"os"
	"os/user"
	"strconv"
	"syscall"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// leaveRoot has the server run as another user if the test runs as root, as which PostgreSQL refuses to run.
func (s *Server) leaveRoot() {
	s.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		needs.Skip(s.t, err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// own gives a file of the test to the user of the server.
func (s *Server) own(path string) {
	s.t.Helper()
	if c := s.as.Credential; c != nil {
		must(s.t, os.Lchown(path, int(c.Uid), int(c.Gid)))
	}
}
