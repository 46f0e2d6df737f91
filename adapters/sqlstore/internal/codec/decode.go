package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/rowdb"
)

var errDamaged = fmt.Errorf("a resource cannot be decoded: %w", rowdb.ErrDamaged)

// A Decoder decodes bodies. It reuses the slices of one resource for the next.
type Decoder struct {
	hashes []resourcesync.Hash
	links  []resourcesync.Link
	attrs  []resourcesync.Attr
}

// Decode returns the resource of a body, without its Key. Its strings are substrings of
// body, and its slices are valid until the next call. The error matches
// rowdb.ErrDamaged.
func (d *Decoder) Decode(body string) (r resourcesync.Resource, err error) {
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
		return resourcesync.Resource{}, errDamaged
	}
	return r, nil
}

// Decode returns the resource of a body. It shares no memory with other resources.
func Decode(key string, body []byte) (*resourcesync.Resource, error) {
	var d Decoder
	r, err := d.Decode(string(body))
	if err != nil {
		return nil, err
	}
	r.Key = key
	return &r, nil
}

// URI returns the URI in a body. It does not check the rest.
func URI(body []byte) string {
	s := scanner{rest: string(body)}
	s.byte()
	return s.string()
}

// DecodeCuts returns the cuts that AppendCuts has encoded, with their keys only.
func DecodeCuts(text string) ([]resourcesync.Cut, error) {
	s := scanner{rest: text}
	cuts := []resourcesync.Cut{}
	last := ""
	for s.rest != "" {
		n := s.uvarint()
		if n > uint64(len(last)) {
			s.fail()
			break
		}
		last = last[:n] + s.string()
		cuts = append(cuts, resourcesync.Cut{Key: last})
	}
	if s.bad {
		return nil, errors.New("the cuts in the store are damaged")
	}
	return append(cuts, resourcesync.Cut{}), nil
}

// A scanner reads values from the beginning of a body. After an error it is bad and
// returns zero values.
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
		// Nearly all strings are short.
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

// len returns the length of a list. Each entry takes at least a byte.
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
