package static

import (
	"context"
	"errors"
	"io"
	"iter"
)

// ErrLocked means that another process writes to the same folder or bucket.
var ErrLocked = errors.New("another process writes to it")

// ErrLockLost means that a lock ended before it was given back, and another process may write.
var ErrLockLost = errors.New("the lock was lost")

// ErrChanged means that a file differs from what this process has last seen.
var ErrChanged = errors.New("another program has changed it")

// A Store keeps the files that [WriteTo] writes. The names of files are paths as in [fs.ValidPath].
// One WriteTo or Publication uses a Store at a time. While a Publication compares or writes a file,
// it also calls the methods from Stat on for other files: they must be safe for concurrent use.
type Store interface {
	// Lock keeps other processes from writing until Unlock is called. It fails with ErrLocked
	// while one writes. The Store may use the file name for that.
	Lock(ctx context.Context, name string) error

	// Unlock ends the lock. ctx may have ended.
	Unlock(ctx context.Context) error

	// HasHeaders reports whether the Store keeps the headers of a [Content], and sends them with
	// the file.
	HasHeaders() bool

	// Stat returns the stamp of a file. If there is no file, the error is fs.ErrNotExist.
	Stat(ctx context.Context, name string) (Stamp, error)

	// Read returns the content of a file. If there is no file, the error is fs.ErrNotExist.
	Read(ctx context.Context, name string) ([]byte, Stamp, error)

	// Compare returns the stamp of a file, and reports whether it has this content. If there is no
	// file, the error is fs.ErrNotExist.
	Compare(ctx context.Context, name string, c Content) (now Stamp, same bool, err error)

	// Write creates a file, or replaces the one with the stamp was. Readers see the old or the
	// new file, and the new one is durable when Write returns. A Store that other programs
	// can write to at the same time fails with ErrChanged if the file has another stamp, or exists
	// although was is the zero value. Write and Remove fail with ErrLocked or ErrLockLost if
	// the lock has ended.
	Write(ctx context.Context, name string, c Content, was Stamp) (Stamp, error)

	// Remove removes a file, and reports whether it has done so. The file need not exist. A Store
	// that can recognise the files of other programs leaves those.
	Remove(ctx context.Context, name string) (removed bool, err error)

	// Files yields the names of the files in a folder, without those in its subfolders. The
	// names have no slashes. A folder that does not exist has no files.
	Files(ctx context.Context, folder string) iter.Seq2[string, error]
}

// A Stamp identifies a version of a file: if it is the same, no other program has changed the file.
type Stamp struct {
	Size     int64  `json:"size"`               // in bytes, as stored
	Modified int64  `json:"modified,omitempty"` // nanoseconds since 1970
	ETag     string `json:"etag,omitempty"`     // entity tag, without quotes
}

// A Content is the content of a file, with the headers with which it should be sent. WriteTo can be
// called several times, and writes the same bytes each time.
type Content struct {
	io.WriterTo
	Type         string // Content-Type
	Encoding     string // Content-Encoding of the bytes; may be empty
	CacheControl string // Cache-Control; may be empty
}
