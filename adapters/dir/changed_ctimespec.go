//go:build darwin || freebsd || netbsd

package dir

import (
	"io/fs"
	"syscall"
	"time"
)

// changeOf returns the change time of a file and its inode number.
func changeOf(info fs.FileInfo) (changed time.Time, inode uint64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return info.ModTime(), 0
	}
	return time.Unix(st.Ctimespec.Unix()), uint64(st.Ino)
}
