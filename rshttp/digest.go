package rshttp

import (
	"crypto/sha256"
	"encoding/base64"
	"io"
	"strconv"
	"time"
)

// stamp formats a time, which may be zero, for comparison.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// digestOf returns a digest of texts.
func digestOf(text ...string) string {
	h := sha256.New()
	for _, s := range text {
		_, _ = io.WriteString(h, strconv.Itoa(len(s))+" "+s)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12])
}
