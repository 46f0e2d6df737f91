// Package codec encodes a resource without its key as a blob, the body of a row:
// one column to read, and one string to allocate.
package codec

import (
	"encoding/binary"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A body begins with a byte of flags, one for each optional field that follows. The
// URI comes next, and then the fields in the order of these constants. Numbers are
// varints; strings and lists are preceded by their length. Equal resources have equal
// bodies.
const (
	hasLastModified = 1 << iota
	hasChangeFreq
	hasLength
	hasType
	hasEncoding
	hasHashes
	hasStamp
	hasMore // links and attributes
)

// Append appends the body of r to b.
func Append(b []byte, r *resourcesync.Resource) []byte {
	var has byte
	set := func(flag byte, present bool) {
		if present {
			has |= flag
		}
	}
	length, known := r.Length.Bytes()
	set(hasLastModified, !r.LastModified.IsZero())
	set(hasChangeFreq, r.ChangeFreq != "")
	set(hasLength, known)
	set(hasType, r.Type != "")
	set(hasEncoding, r.Encoding != "")
	set(hasHashes, len(r.Hashes) > 0)
	set(hasStamp, r.Stamp != "")
	set(hasMore, len(r.Links)+len(r.Attrs) > 0)

	b = append(b, has)
	b = appendString(b, r.URI)
	if has&hasLastModified != 0 {
		b = appendTime(b, r.LastModified)
	}
	if has&hasChangeFreq != 0 {
		b = appendString(b, r.ChangeFreq)
	}
	if has&hasLength != 0 {
		b = binary.AppendUvarint(b, uint64(length))
	}
	if has&hasType != 0 {
		b = appendString(b, r.Type)
	}
	if has&hasEncoding != 0 {
		b = appendString(b, r.Encoding)
	}
	if has&hasHashes != 0 {
		b = appendHashes(b, r.Hashes)
	}
	if has&hasStamp != 0 {
		b = appendString(b, r.Stamp)
	}
	if has&hasMore != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.Links)))
		for i := range r.Links {
			b = appendLink(b, &r.Links[i])
		}
		b = appendAttrs(b, r.Attrs)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func appendTime(b []byte, t time.Time) []byte {
	b = binary.AppendVarint(b, t.Unix())
	return binary.AppendUvarint(b, uint64(t.Nanosecond()))
}

func appendHashes(b []byte, hashes []resourcesync.Hash) []byte {
	b = binary.AppendUvarint(b, uint64(len(hashes)))
	for _, h := range hashes {
		b = appendString(b, h.Algorithm)
		b = appendString(b, h.Digest)
	}
	return b
}

func appendAttrs(b []byte, attrs []resourcesync.Attr) []byte {
	b = binary.AppendUvarint(b, uint64(len(attrs)))
	for _, a := range attrs {
		b = appendString(b, a.Space)
		b = appendString(b, a.Name)
		b = appendString(b, a.Value)
	}
	return b
}

func appendLink(b []byte, l *resourcesync.Link) []byte {
	length, _ := l.Length.Bytes()
	b = appendString(b, l.Rel)
	b = appendString(b, l.Href)
	b = appendString(b, l.Encoding)
	b = appendHashes(b, l.Hashes)
	b = binary.AppendVarint(b, length) // -1 if unknown
	b = appendTime(b, l.Modified)
	b = appendString(b, l.Path)
	b = binary.AppendVarint(b, int64(l.Pri))
	b = appendString(b, l.Type)
	return appendAttrs(b, l.Attrs)
}
