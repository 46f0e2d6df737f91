//go:build !windows

package versions

import (
	"errors"
	"syscall"
)

// isUnsupported reports whether err means that the file system cannot sync folders.
func isUnsupported(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}
