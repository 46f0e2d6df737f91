// Package virtualzip computes ZIP packages while they are read, from any offset. A
// package is never stored: its bytes are a function of a list of entries. The package
// does not depend on ResourceSync or HTTP.
//
// [New] lays out an [Archive] from the names, sizes, checksums and times of its entries,
// without opening them. [Archive.NewReader] returns an [io.ReadSeeker] over the archive
// for each request, as net/http.ServeContent needs it. [Name] derives names of entries
// from URIs.
//
// Entries are stored without compression, so each byte of the archive has its offset
// before anything is read. The headers are those of archive/zip, with ZIP64 where sizes,
// offsets or the number of entries need it. Equal lists give equal bytes, at any time and
// on any machine. Checksums do not affect offsets, so they may be computed when they are
// needed.
//
// # Guarantees
//
// The last byte of an entry is returned only after its length, its CRC32 and the end of
// the source have been verified. If one of them does not match, or the entry cannot be
// opened or read, reading fails with an [*EntryError] and cannot continue. So a client
// that reads from the beginning never completes an archive whose content differs from its
// headers.
//
// The same applies to a read that begins inside an entry: its last byte is returned only
// if the complete entry, as read now, has its CRC32. A source that cannot seek is read
// from its beginning. A source that can seek is read from the offset, and the bytes
// before it are read when all but the last bytes have been returned. A read that ends
// inside an entry reads no more than requested and does not verify the entry; a read that
// continues from there does.
//
// Content passes through a buffer of this process, not from file to socket within the
// kernel, because a file could change between verification and sending.
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
	// Name is the path of the entry: valid for io/fs.ValidPath, at most 65,535
	// bytes, without backslashes. It is unique in the archive.
	Name string

	// Modified is the modification time. The archive has it in UTC, in whole
	// seconds. Times before 1980-01-01 or after 2107-12-31, and the zero time,
	// become the nearest time between.
	Modified time.Time

	// Size is the length, in bytes, and CRC32 the checksum (IEEE 802.3) of the
	// content that Open opens; see the function [Checksum]. The total of all sizes
	// is at most 32 TiB.
	Size  int64
	CRC32 uint32

	// Checksum, if not nil, computes CRC32 when a reader first reaches the entry,
	// or the central directory, which has all checksums. It may be called from
	// several goroutines at once, until a call succeeds. ctx is that of the reader.
	Checksum func(ctx context.Context) (uint32, error)

	// Open opens the content for one read from its beginning. A range that ends
	// inside the entry is cheap if the result is also an io.Seeker or an
	// io.ReaderAt. Open should fail if it knows that the content no longer has this
	// Size and CRC32. It may be called from several goroutines at once. ctx is that
	// of the reader.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// ErrChanged means that the content of an entry does not have its Size and CRC32.
var ErrChanged = errors.New("content is not what was listed")

// An EntryError is an error of one entry, from laying out or reading an archive.
type EntryError struct {
	Name string
	Err  error // the error of Entry.Open or of its reader, or one that wraps ErrChanged
}

func (e *EntryError) Error() string { return fmt.Sprintf("virtualzip: entry %q: %v", e.Name, e.Err) }

func (e *EntryError) Unwrap() error { return e.Err }
