package codec

import (
	"encoding/binary"
	"errors"

	"github.com/resourcesync-go/resourcesync"
)

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
