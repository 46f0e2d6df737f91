package hub

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
)

// signatures are the supported methods of X-Hub-Signature. WebSub also has sha1, but advises
// against it (section 8.3).
var signatures = map[string]func() hash.Hash{
	"sha256": sha256.New,
	"sha384": sha512.New384,
	"sha512": sha512.New,
}

// sign returns the value of X-Hub-Signature for body, by a method of signatures (WebSub,
// section 7.1).
func sign(method string, secret, body []byte) string {
	mac := hmac.New(signatures[method], secret)
	mac.Write(body)
	var sum [sha512.Size]byte
	return method + "=" + hex.EncodeToString(mac.Sum(sum[:0]))
}
