// Package digest computes and compares digests of content: the algorithms that documents name,
// in the spellings that are found in the field.
package digest

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

var algorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha-1": sha1.New, "sha-256": sha256.New, "sha-384": sha512.New384, "sha-512": sha512.New,
}

var sizes = map[string]int{
	"md5": md5.Size, "sha-1": sha1.Size, "sha-256": sha256.Size, "sha-384": sha512.Size384, "sha-512": sha512.Size,
}

// New returns a hash of an algorithm of [resourcesync.Hash], or nil if the algorithm is unknown.
func New(algorithm string) hash.Hash {
	if algorithm := algorithms[algorithm]; algorithm != nil {
		return algorithm()
	}
	return nil
}

// Algorithms returns the names of the algorithms that are known, in order.
func Algorithms() []string { return slices.Sorted(maps.Keys(algorithms)) }

// Size returns the size of a digest of an algorithm in bytes, or zero if the algorithm is unknown.
func Size(algorithm string) int { return sizes[algorithm] }

// name returns an algorithm as RFC 3230 and the specification write it: "sha-256" for "SHA256".
func name(algorithm string) string {
	algorithm = strings.ToLower(algorithm)
	if rest, ok := strings.CutPrefix(algorithm, "sha"); ok && rest != "" && rest[0] != '-' {
		algorithm = "sha-" + rest
	}
	return algorithm
}

// Sums computes digests of the content that is written to it.
type Sums struct {
	names  []string
	hashes []hash.Hash
}

// NewSums returns Sums for the algorithms of like that are known, each once.
func NewSums(like ...resourcesync.Hash) *Sums {
	s := new(Sums)
	for _, h := range like {
		s.Add(h.Algorithm)
	}
	return s
}

// Add adds an algorithm, if it is known and was not added before. Call it before Write.
func (s *Sums) Add(algorithm string) {
	algorithm = name(algorithm)
	if slices.Contains(s.names, algorithm) {
		return
	}
	if h := New(algorithm); h != nil {
		s.names, s.hashes = append(s.names, algorithm), append(s.hashes, h)
	}
}

// Write implements [io.Writer]. It never fails.
func (s *Sums) Write(content []byte) (int, error) {
	for _, h := range s.hashes {
		h.Write(content)
	}
	return len(content), nil
}

// Hashes returns the digests of the content written so far.
func (s *Sums) Hashes() []resourcesync.Hash {
	all := make([]resourcesync.Hash, len(s.names))
	for i, h := range s.hashes {
		all[i] = resourcesync.Hash{Algorithm: s.names[i], Digest: hex.EncodeToString(h.Sum(nil))}
	}
	return all
}

// Of returns the size and the digests of a content: SHA-256, and the known algorithms of like.
func Of(content io.Reader, like []resourcesync.Hash) (size int64, hashes []resourcesync.Hash, err error) {
	sums := NewSums(like...)
	sums.Add("sha-256")
	if size, err = io.Copy(sums, content); err != nil {
		return 0, nil, err
	}
	return size, sums.Hashes(), nil
}

// Is reports whether the digest of h can be one of its algorithm, as Compare reads them. A hash
// of an unknown algorithm can.
func Is(h resourcesync.Hash) bool {
	size, known := sizes[name(h.Algorithm)]
	if !known {
		return true
	}
	switch len(h.Digest) {
	case hex.EncodedLen(size):
		return strings.Trim(h.Digest, "0123456789abcdefABCDEF") == ""
	case base64.StdEncoding.EncodedLen(size):
		raw, err := base64.StdEncoding.DecodeString(h.Digest)
		return err == nil && len(raw) == size
	}
	return false
}

// Compare compares the hashes of a copy, in hexadecimal, with the hashes that a list states. They
// are comparable if they share an algorithm, and the same if no digest differs.
func Compare(have, want []resourcesync.Hash) (comparable, same bool) {
	comparable, differ := compare(have, want)
	return comparable, differ == nil
}

// Differ returns the first two hashes of one algorithm with different digests, or nil.
func Differ(have, want []resourcesync.Hash) *Pair {
	_, differ := compare(have, want)
	return differ
}

// A Pair has two hashes of one algorithm.
type Pair struct{ Have, Want resourcesync.Hash }

func compare(have, want []resourcesync.Hash) (comparable bool, differ *Pair) {
	for _, w := range want {
		for _, h := range have {
			if name(h.Algorithm) != name(w.Algorithm) {
				continue
			}
			comparable = true
			if !same(h.Digest, w.Digest) {
				return true, &Pair{h, w}
			}
		}
	}
	return comparable, nil
}

// same reports whether want, which a list states, is the digest have. Some Sources write upper
// case, and some base64.
func same(have, want string) bool {
	if strings.EqualFold(have, want) {
		return true
	}
	raw, err := base64.StdEncoding.DecodeString(want)
	return err == nil && strings.EqualFold(hex.EncodeToString(raw), have)
}

// Agree reports whether the hashes of a copy agree with the hashes that a list states: at least one is
// comparable, and none differs.
func Agree(have, want []resourcesync.Hash) bool {
	comparable, same := Compare(have, want)
	return comparable && same
}
