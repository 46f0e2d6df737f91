//go:build !unix

package dir

import (
	"io/fs"
	"os"
	"time"
)

const openFlags = os.O_RDONLY

// isBadName reports whether err says that no file can have this name. Here
// validName has refused such names before.
func isBadName(error) bool { return false }

// status returns what else tells that a file has changed: nothing here.
func status(info fs.FileInfo) (changed time.Time, inode uint64) { return info.ModTime(), 0 }
