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
// before anything is read. archive/zip writes the headers, with ZIP64 where it is needed.
// Equal lists give equal bytes, at any time and on any machine. Checksums do not affect
// offsets, so they may be computed when they are needed.
//
// # Guarantees
//
// The last byte of an entry is returned only after its length, its CRC32 and the end of
// the source have been verified. If one of them does not match, or the entry cannot be
// opened or read, reading fails with an [*EntryError] and cannot continue. So a client
// that reads from the beginning never completes an archive whose content differs from its
// headers.
//
// The same applies to a read that begins inside an entry. A source that can seek is read
// from the offset, and the bytes before it when all but the last bytes have been returned;
// any other source is read from its beginning. A read that ends inside an entry reads no
// more than requested and does not verify the entry; a read that continues from there does.
//
// Content passes through a buffer of this process, not from file to socket within the
// kernel, because a file could change between verification and sending.
package virtualzip

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"
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
	// or the central directory, which has all checksums. It may be called from several
	// goroutines at once, until a call succeeds. ctx is the context of the reader.
	Checksum func(ctx context.Context) (uint32, error)

	// Open opens the content for one read from its beginning. A range that ends
	// inside the entry is cheap if the result is also an io.Seeker or an
	// io.ReaderAt. Open should fail if it knows that the content no longer has this
	// Size and CRC32. It may be called from several goroutines at once. ctx is the context of the
	// reader.
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

// New lays out an archive of entries, in their order, without opening them. It returns
// an error that entries yields unchanged. If an entry is invalid, above all if its name
// is invalid or not unique, the error is an [*EntryError].
func New(entries iter.Seq2[Entry, error]) (*Archive, error) {
	l := &layout{names: make(map[string]struct{})}
	l.zip = zip.NewWriter(&l.out)
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if err := l.add(e); err != nil {
			return nil, &EntryError{e.Name, err}
		}
	}
	if err := l.zip.Close(); err != nil {
		return nil, err
	}
	version := sha256.Sum256(l.out.headers.Bytes())
	a := &Archive{
		headers: slices.Clone(l.out.headers.Bytes()), // without spare capacity
		members: slices.Clone(l.members),
		size:    l.out.size(),
		version: hex.EncodeToString(version[:16]),
	}
	if slices.ContainsFunc(l.sums, func(sum func(context.Context) (uint32, error)) bool { return sum != nil }) {
		a.defers(l.sums)
	}
	return a, nil
}

// A layout is an unfinished Archive.
type layout struct {
	zip     *zip.Writer
	out     recorder
	members []member
	names   map[string]struct{}
	sums    []func(context.Context) (uint32, error) // Entry.Checksum of each entry
}

func (l *layout) add(e Entry) error {
	if !fs.ValidPath(e.Name) || e.Name == "." || strings.Contains(e.Name, `\`) {
		return errors.New("the name is not valid in a package")
	}
	if _, ok := l.names[e.Name]; ok {
		return errors.New("the name is not unique in the package")
	}
	l.names[e.Name] = struct{}{}
	if e.Checksum != nil {
		e.CRC32 = 0 // until it is settled
	}
	if e.Size < 0 || e.Size > maxSize-l.out.size() {
		return errors.New("the size is not possible in a package")
	}

	fh := l.header(e)
	extra := fh.Extra
	if fh.UncompressedSize64 >= math.MaxUint32 {
		// archive/zip adds the ZIP64 field of the central directory, but leaves the field of the
		// local header to the caller of CreateRaw.
		fh.Extra = appendZIP64(slices.Clone(extra), fh.UncompressedSize64)
	}
	w, err := l.zip.CreateRaw(fh)
	if err != nil {
		return err
	}
	if err := l.zip.Flush(); err != nil {
		return err
	}
	fh.Extra = extra // the writer keeps fh for the central directory
	l.members = append(l.members, member{e.Open, l.out.size(), e.Size, l.out.headers.Len()})
	l.sums = append(l.sums, e.Checksum)
	return l.skip(w, e.Size)
}

// skip writes size bytes of content that the recorder does not keep, so that the ZIP
// writer counts them.
func (l *layout) skip(w io.Writer, size int64) error {
	l.out.content = true
	defer func() { l.out.content = false }()
	for size > 0 {
		n := min(size, int64(len(nothing)))
		if _, err := w.Write(nothing[:n]); err != nil {
			return err
		}
		size -= n
	}
	return l.zip.Flush()
}

// nothing replaces the content of every entry. It is never written to, so it takes
// hardly any memory.
var nothing [1 << 20]byte

// maxSize is the maximum size, in bytes, of the content of an archive: the amount that
// skip processes in about a second. A larger size is a mistake.
const maxSize = 1 << 45

// header returns the header of e, for the local header and the central directory.
func (l *layout) header(e Entry) *zip.FileHeader {
	const version, versionZIP64 = 20, 45
	fh := &zip.FileHeader{
		Name:               e.Name,
		Method:             zip.Store,
		ReaderVersion:      version,
		CRC32:              e.CRC32,
		CompressedSize64:   uint64(e.Size),
		UncompressedSize64: uint64(e.Size),
	}
	if max(e.Size, l.out.size()) >= math.MaxUint32 {
		fh.ReaderVersion = versionZIP64
	}
	fh.CreatorVersion = fh.ReaderVersion
	fh.SetMode(0o644)
	if strings.ContainsFunc(e.Name, func(r rune) bool { return r > '~' }) {
		fh.Flags = 0x800 // the name is UTF-8
	}
	modified := e.Modified
	if modified.Before(earliest) {
		modified = earliest
	} else if modified.After(latest) {
		modified = latest
	}
	//lint:ignore SA1019 CreateRaw writes the MS-DOS time of the header and ignores Modified.
	fh.SetModTime(modified)
	if seconds := modified.Unix(); seconds <= math.MaxInt32 {
		fh.Extra = timestamp(uint32(seconds))
	}
	return fh
}

// The range of an MS-DOS date and time.
var (
	earliest = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)
	latest   = time.Date(2107, time.December, 31, 23, 59, 58, 0, time.UTC)
)

// timestamp returns the extra field "UT" with a modification time, which archive/zip
// writes in CreateHeader but not in CreateRaw. Without it, tools read the MS-DOS time in
// their own time zone.
func timestamp(seconds uint32) []byte {
	b := append(make([]byte, 0, 9), 'U', 'T', 5, 0, 1)
	return binary.LittleEndian.AppendUint32(b, seconds)
}

// appendZIP64 appends the extra field with the sizes of a stored entry for its local
// header (APPNOTE 4.5.3).
func appendZIP64(b []byte, size uint64) []byte {
	b = append(b, 1, 0, 16, 0)
	b = binary.LittleEndian.AppendUint64(b, size)
	return binary.LittleEndian.AppendUint64(b, size)
}

// A recorder is the output of a ZIP writer. It keeps headers and counts content.
type recorder struct {
	headers bytes.Buffer
	skipped int64 // bytes of content
	content bool  // the next bytes are content
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.content {
		r.skipped += int64(len(p))
		return len(p), nil
	}
	return r.headers.Write(p)
}

func (r *recorder) size() int64 { return int64(r.headers.Len()) + r.skipped }
