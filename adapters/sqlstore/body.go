package sqlstore

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A body is a resource without its key, in one blob: one column to read, one
// string to make. First comes a byte that says which of the optional fields are
// there, then the URI, then those fields in the order of these constants.
// Numbers are varints, and strings and lists begin with their length. Equal
// resources have equal bodies.
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

// appendBody appends the body of r to b.
func appendBody(b []byte, r *resourcesync.Resource) []byte {
	var has byte
	set := func(flag byte, isThere bool) {
		if isThere {
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

var errBody = fmt.Errorf("a resource cannot be decoded: %w", ErrDamaged)

// A decoder makes resources of bodies. The slices of one are reused for the
// next.
type decoder struct {
	hashes []resourcesync.Hash
	links  []resourcesync.Link
	attrs  []resourcesync.Attr
}

// decode returns the resource of a body, without a Key. Its strings are parts of
// body.
func (d *decoder) decode(body string) (r resourcesync.Resource, err error) {
	s := scanner{rest: body}
	has := s.byte()
	r.URI = s.string()
	if has&hasLastModified != 0 {
		r.LastModified = s.time()
	}
	if has&hasChangeFreq != 0 {
		r.ChangeFreq = s.string()
	}
	if has&hasLength != 0 {
		r.Length = resourcesync.Bytes(int64(s.uvarint()))
	}
	if has&hasType != 0 {
		r.Type = s.string()
	}
	if has&hasEncoding != 0 {
		r.Encoding = s.string()
	}
	if has&hasHashes != 0 {
		d.hashes = s.hashes(d.hashes[:0])
		r.Hashes = d.hashes
	}
	if has&hasStamp != 0 {
		r.Stamp = s.string()
	}
	if has&hasMore != 0 {
		d.links = d.links[:0]
		for range s.len() {
			d.links = append(d.links, s.link())
		}
		d.attrs = s.attrs(d.attrs[:0])
		r.Links, r.Attrs = d.links, d.attrs
	}
	if s.bad || s.rest != "" {
		return resourcesync.Resource{}, errBody
	}
	return r, nil
}

// decodeBody returns the resource of a body. It shares nothing with other resources.
func decodeBody(key string, body []byte) (*resourcesync.Resource, error) {
	var d decoder
	r, err := d.decode(string(body))
	if err != nil {
		return nil, err
	}
	r.Key = key
	return &r, nil
}

// uriOf returns the URI in a body, which is not checked otherwise.
func uriOf(body []byte) string {
	s := scanner{rest: string(body)}
	s.byte()
	return s.string()
}

// A scanner takes values off the beginning of a body. Once it is bad it yields
// zero values.
type scanner struct {
	rest string
	bad  bool
}

func (s *scanner) fail() {
	s.rest, s.bad = "", true
}

func (s *scanner) byte() byte {
	if s.rest == "" {
		s.fail()
		return 0
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c
}

func (s *scanner) uvarint() uint64 {
	if s.rest != "" && s.rest[0] < 0x80 {
		v := uint64(s.rest[0])
		s.rest = s.rest[1:]
		return v
	}
	var v uint64
	for i := 0; i < len(s.rest) && i < binary.MaxVarintLen64; i++ {
		c := s.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			s.rest = s.rest[i+1:]
			return v
		}
	}
	s.fail()
	return 0
}

func (s *scanner) varint() int64 {
	v := s.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

func (s *scanner) string() string {
	if s.rest != "" && int(s.rest[0]) < min(0x80, len(s.rest)) {
		// Nearly all are short.
		n := 1 + s.rest[0]
		v := s.rest[1:n]
		s.rest = s.rest[n:]
		return v
	}
	n := s.uvarint()
	if n > uint64(len(s.rest)) {
		s.fail()
		return ""
	}
	v := s.rest[:n]
	s.rest = s.rest[n:]
	return v
}

// len is the length of a list. No entry of one takes less than a byte.
func (s *scanner) len() int {
	n := s.uvarint()
	if n > uint64(len(s.rest)) {
		s.fail()
		return 0
	}
	return int(n)
}

func (s *scanner) time() time.Time {
	seconds, nanoseconds := s.varint(), s.uvarint()
	if nanoseconds >= uint64(time.Second) {
		s.fail()
		return time.Time{}
	}
	return time.Unix(seconds, int64(nanoseconds)).UTC()
}

func (s *scanner) hashes(dst []resourcesync.Hash) []resourcesync.Hash {
	for range s.len() {
		dst = append(dst, resourcesync.Hash{Algorithm: s.string(), Digest: s.string()})
	}
	return dst
}

func (s *scanner) attrs(dst []resourcesync.Attr) []resourcesync.Attr {
	for range s.len() {
		dst = append(dst, resourcesync.Attr{Space: s.string(), Name: s.string(), Value: s.string()})
	}
	return dst
}

func (s *scanner) link() resourcesync.Link {
	return resourcesync.Link{
		Rel:      s.string(),
		Href:     s.string(),
		Encoding: s.string(),
		Hashes:   s.hashes(nil),
		Length:   resourcesync.Bytes(s.varint()),
		Modified: s.time(),
		Path:     s.string(),
		Pri:      int(s.varint()),
		Type:     s.string(),
		Attrs:    s.attrs(nil),
	}
}
