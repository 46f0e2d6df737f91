package sitemap

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/resourcesync-go/resourcesync"
)

// shortKey returns key or, if it is too long, a prefix of it with a digest.
func shortKey(key string) string {
	if len(key) <= resourcesync.MaxKeyLength {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	digest := "~" + hex.EncodeToString(sum[:])
	return key[:resourcesync.MaxKeyLength-len(digest)] + digest
}
