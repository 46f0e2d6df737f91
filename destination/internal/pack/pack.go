// Package pack reads the packages of dumps: ZIP files from a Source that is not trusted.
// The names in a package are compared with the names in its manifest, and are never used as
// paths of files. Limits bound the memory and the content that a package can cost its
// reader.
package pack

import (
	"archive/zip"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// Manifest is the name of the manifest (sections 11.2 and 13.2).
	Manifest = "manifest.xml"

	// MaxEntries is the maximum number of entries of a package, and maxDirectory the maximum
	// number of bytes of its central directory. Both are in memory. A manifest has at most
	// 50,000 entries (Sitemap protocol), and each of them can have patches.
	MaxEntries   = 150_000
	maxDirectory = 48 << 20

	// maxRatio is the maximum ratio of the size of an entry to its compressed size.
	// Smaller entries than smallEntry can have any.
	maxRatio   = 200
	smallEntry = 1 << 20
)

var (
	// ErrDirectory means that the central directory is too large.
	ErrDirectory = fmt.Errorf("the package has more than %d entries, or more than %d bytes of names", MaxEntries, maxDirectory)

	// ErrOverlap means that entries share bytes, so that a small package can unpack to
	// any size.
	ErrOverlap = errors.New("the entries of the package overlap")

	// ErrMissing means that a package has no entry with a name.
	ErrMissing = errors.New("it is missing from the package")

	// ErrEncrypted means that an entry is encrypted.
	ErrEncrypted = errors.New("it is encrypted in the package")

	// ErrExpands means that an entry is compressed so much that it is not unpacked.
	ErrExpands = fmt.Errorf("it is compressed to less than 1/%d in the package", maxRatio)
)

// A Package is an open package. It is safe for concurrent use.
type Package struct {
	files []*zip.File // sorted by name
}

// Open reads the central directory of a package of size bytes. r must stay open as long as
// the Package is used.
func Open(r io.ReaderAt, size int64) (*Package, error) {
	d := &directory{r: r}
	z, err := zip.NewReader(d, size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return nil, err
	}
	d.done = true
	left := uint64(size)
	for _, f := range z.File {
		if f.CompressedSize64 > left {
			return nil, ErrOverlap
		}
		left -= f.CompressedSize64
	}
	p := &Package{files: z.File}
	slices.SortStableFunc(p.files, func(a, b *zip.File) int { return cmp.Compare(name(a.Name), name(b.Name)) })
	return p, nil
}

// name returns a name in the form that packages should use. Some have a leading slash or
// "./", or the backslashes of Windows.
func name(s string) string {
	s = strings.ReplaceAll(s, `\`, "/")
	for strings.HasPrefix(s, "./") || strings.HasPrefix(s, "/") {
		_, s, _ = strings.Cut(s, "/")
	}
	return s
}

// Open opens the entry that a manifest names by its path. If there are several, it opens
// the first one. Reading fails at the end if the content does not have the stated length
// and checksum.
func (p *Package) Open(path string) (io.ReadCloser, error) {
	path = name(path)
	i, found := slices.BinarySearchFunc(p.files, path, func(f *zip.File, path string) int { return cmp.Compare(name(f.Name), path) })
	if !found {
		return nil, ErrMissing
	}
	f := p.files[i]
	switch {
	case f.Flags&1 != 0:
		return nil, ErrEncrypted
	case f.UncompressedSize64 > smallEntry && f.UncompressedSize64/maxRatio > f.CompressedSize64:
		return nil, ErrExpands
	}
	return f.Open()
}

// A directory is a package whose central directory is read within limits. It checks
// exactly the bytes that are parsed, so no package can look small to it and large to the
// parser.
type directory struct {
	r    io.ReaderAt
	done bool // the directory has been read

	bytes   int64
	entries int
	next    int64  // offset after the last read
	tail    []byte // its last bytes, which can begin a signature
}

const (
	headerSignature = "PK\x01\x02" // of an entry of the directory
	endSignature    = "PK\x06\x06" // of the end of a directory of ZIP64
)

// ReadAt implements [io.ReaderAt].
func (d *directory) ReadAt(p []byte, offset int64) (int, error) {
	n, err := d.r.ReadAt(p, offset)
	if d.done {
		return n, err
	}
	p = p[:n]
	if offset != d.next {
		d.tail = nil
	}
	seen := string(d.tail) + string(p)
	d.entries += strings.Count(seen, headerSignature)
	d.bytes += int64(n)
	d.next, d.tail = offset+int64(n), []byte(seen[max(0, len(seen)-len(headerSignature)+1):])
	if d.entries > MaxEntries+1 || d.bytes > maxDirectory || announced(p) > MaxEntries {
		return 0, ErrDirectory
	}
	return n, err
}

// announced returns the number of entries that the end of a directory of ZIP64 announces, for
// which the parser would reserve memory, or 0 if p is something else. Others announce at most
// 65,535.
func announced(p []byte) uint64 {
	const at = 32
	if len(p) < at+8 || string(p[:len(endSignature)]) != endSignature {
		return 0
	}
	return binary.LittleEndian.Uint64(p[at:])
}
