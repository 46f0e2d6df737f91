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
	must(s.t, os.Chown(s.folder, uid, gid))
	s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
