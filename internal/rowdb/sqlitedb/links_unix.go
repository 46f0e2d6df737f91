//go:build unix

package sqlitedb

import (
	"os"
	"syscall"
)

func links(path string) (uint64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return uint64(info.Sys().(*syscall.Stat_t).Nlink), nil
}
