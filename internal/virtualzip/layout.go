package virtualzip

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"math"
	"slices"
	"strings"
	"time"
)

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
		// archive/zip adds the ZIP64 field of the central directory, but
		// leaves that of the local header to the caller of CreateRaw.
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
	l.members = append(l.members, member{e.Open, l.out.size(), e.Size, l.out.headers.Len(), e.CRC32})
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
