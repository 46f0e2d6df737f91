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
	length, known := r.Length.Bytes()
	flags := len(b)
	b = append(b, 0)
	has := func(flag byte, present bool) bool {
		if present {
			b[flags] |= flag
		}
		return present
	}
	b = appendString(b, r.URI)
	if has(hasLastModified, !r.LastModified.IsZero()) {
		b = appendTime(b, r.LastModified)
	}
	if has(hasChangeFreq, r.ChangeFreq != "") {
		b = appendString(b, r.ChangeFreq)
	}
	if has(hasLength, known) {
		b = binary.AppendUvarint(b, uint64(length))
	}
	if has(hasType, r.Type != "") {
		b = appendString(b, r.Type)
	}
	if has(hasEncoding, r.Encoding != "") {
		b = appendString(b, r.Encoding)
	}
	if has(hasHashes, len(r.Hashes) > 0) {
		b = appendHashes(b, r.Hashes)
	}
	if has(hasStamp, r.Stamp != "") {
		b = appendString(b, r.Stamp)
	}
	if has(hasMore, len(r.Links)+len(r.Attrs) > 0) {
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

// AppendCuts appends the keys of cuts to b. The last key, always "", is left out. Each
// is written as the length of the prefix that it shares with the one before it, and
// the rest.
func AppendCuts(b []byte, cuts []resourcesync.Cut) []byte {
	last := ""
	for _, c := range cuts[:len(cuts)-1] {
		n := 0
		for n < min(len(last), len(c.Key)) && last[n] == c.Key[n] {
			n++
		}
		b = binary.AppendUvarint(b, uint64(n))
		b = appendString(b, c.Key[n:])
		last = c.Key
	}
	return b
}
