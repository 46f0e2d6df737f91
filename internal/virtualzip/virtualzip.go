// Package virtualzip makes ZIP packages that exist nowhere: their bytes are a
// function of a list of entries and are computed while they are read, from any
// offset. It knows nothing of what the entries are, nor of HTTP.
//
// [New] lays out an [Archive] from the names, sizes, checksums and times of its
// entries, without opening one of them. [Archive.NewReader] gives each request
// an [io.ReadSeeker] over the whole, as net/http.ServeContent wants it. [Name]
// makes names for entries out of URIs.
//
// All entries are stored, not compressed, so that every byte of the package has
// its place before anything is read. The headers are those of archive/zip, with
// ZIP64 where sizes, offsets or the number of entries need it. The same list
// gives the same bytes, at any time and on any machine. Checksums, which move
// nothing, may be found out as they are needed.
//
// # What is guaranteed
//
// An entry that is read from its first byte to its last was as long as its Size
// and had its CRC32; both are checked before the last of its bytes is handed
// out, and that the source ends there. If they do not match, or the entry cannot
// be opened or read, reading fails with an [*EntryError] and goes no further: who
// reads from the beginning never completes a package with other content than its
// headers say.
//
// The same holds for reading that begins inside an entry: its last byte is returned
// only if the whole entry, as read now, has its CRC32. A source that cannot seek is
// read from its beginning. A source that can seek is read from the offset, and the
// bytes before it are read when all but the last bytes have been returned. A read
// that ends inside an entry reads no more than requested and does not verify that
// entry; a read that continues from there does.
//
// Bytes go through a buffer of this process rather than from file to socket
// within the kernel: a file may be written between being checked and being sent.
package virtualzip

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// An Entry is a file in a package.
type Entry struct {
	// Name is the path of the entry: valid UTF-8, segments separated by
	// forward slashes, not rooted, at most 65,535 bytes, as io/fs.ValidPath
	// has it and without backslashes. It is unique in the package.
	Name string

	// Modified is the modification time. The package has it in UTC, in whole
	// seconds. Times that its fields cannot hold, and the zero time, become
	// the nearest that they can: 1980-01-01 to 2107-12-31.
	Modified time.Time

	// Size is the length in bytes, and CRC32 the checksum by the polynomial
	// of IEEE 802.3, of what Open opens; see the function [Checksum]. All sizes together
	// are at most 32 TiB.
	Size  int64
	CRC32 uint32

	// Checksum, if it is not nil, finds CRC32 out when a reader first comes to
	// the entry, or to the directory at the end of the package, which has all
	// of them. It is called from any goroutine, by several at a time perhaps,
	// until it has succeeded once; ctx is that of the reader.
	Checksum func(ctx context.Context) (uint32, error)

	// Open opens the content for one reading from its beginning. A Range
	// that ends inside the entry is cheap if the result is an io.Seeker or an
	// io.ReaderAt as well. If Open can tell that the content is no longer
	// what Size and CRC32 describe, it should fail. It is called from any
	// goroutine, and ctx is that of the reader.
	Open func(ctx context.Context) (io.ReadCloser, error)

	// Data is the content if Open is nil; Size and CRC32 then follow from
	// it. It must not be changed afterwards.
	Data []byte
}

// ErrChanged says that the content of an entry is shorter, longer or other than
// its Size and CRC32.
var ErrChanged = errors.New("content is not what was listed")

// An EntryError says which entry of a package could not be laid out or read.
type EntryError struct {
	Name string
	Err  error // the error of Entry.Open or of its reader, or one that wraps ErrChanged
}

func (e *EntryError) Error() string { return fmt.Sprintf("virtualzip: entry %q: %v", e.Name, e.Err) }

func (e *EntryError) Unwrap() error { return e.Err }
