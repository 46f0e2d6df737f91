//go:build !unix

package dir

import (
	"io/fs"
	"os"
	"time"
)

const openFlags = os.O_RDONLY

// isBadName reports whether err means that no file can have this name. On this system
// validName has already refused such names.
func isBadName(error) bool { return false }

// changeOf returns further signs that a file has changed. This system has none.
func changeOf(info fs.FileInfo) (changed time.Time, inode uint64) { return info.ModTime(), 0 }
