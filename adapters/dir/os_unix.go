//go:build unix

package dir

import (
	"errors"
	"os"
	"syscall"
)

// openFlags open a file without blocking, in case a FIFO has replaced it.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// isBadName reports whether err means that no file can have this name.
func isBadName(err error) bool {
	return errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EILSEQ)
}
