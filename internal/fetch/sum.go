package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"github.com/resourcesync-go/resourcesync"
)

// Sum returns the size and the hashes of a content: SHA-256, and hashes of the algorithms of like.
func Sum(content io.Reader, like []resourcesync.Hash) (size int64, hashes []resourcesync.Hash, err error) {
	sums := map[string]hash.Hash{"sha-256": sha256.New()}
	for _, h := range like {
		if name := algorithm(h.Algorithm); algorithms[name] != nil {
			sums[name] = algorithms[name]()
		}
	}
	writers := make([]io.Writer, 0, len(sums))
	for _, sum := range sums {
		writers = append(writers, sum)
	}
	if size, err = io.Copy(io.MultiWriter(writers...), content); err != nil {
		return 0, nil, err
	}
	for name, sum := range sums {
		hashes = append(hashes, resourcesync.Hash{Algorithm: name, Digest: hex.EncodeToString(sum.Sum(nil))})
	}
	return size, hashes, nil
}
