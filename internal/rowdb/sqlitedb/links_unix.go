//go:build unix

package sqlitedb

import (
	"os"
	"syscall"
)

// links returns the number of hard links to the file at path.
func links(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return uint64(info.Sys().(*syscall.Stat_t).Nlink), nil
}
