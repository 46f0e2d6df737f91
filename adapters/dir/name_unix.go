//go:build unix

package dir

import (
	"errors"
	"syscall"
)

// isBadName reports whether err means that no file can have this name.
func isBadName(err error) bool {
	return errors.Is(err, syscall.ENAMETOOLONG) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EILSEQ)
}
