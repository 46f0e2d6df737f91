package document

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strconv"
	"time"
)

// Stamp formats a time, which may be zero, for comparison.
func Stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// DigestOf returns a digest of texts.
func DigestOf(text ...string) string {
	h := sha256.New()
	for _, s := range text {
		_, _ = io.WriteString(h, strconv.Itoa(len(s))+" "+s)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
