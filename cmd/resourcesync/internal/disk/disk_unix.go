//go:build linux || darwin || freebsd

package disk

import "golang.org/x/sys/unix"

// measure returns the free and total bytes of the file system of a path. Space that only the
// superuser may use is not free.
func measure(path string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, err
	}
	block := uint64(s.Bsize)
	return uint64(max(int64(s.Bavail), 0)) * block, s.Blocks * block, nil // FreeBSD counts below zero
}
