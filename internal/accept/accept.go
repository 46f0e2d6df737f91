// Package accept parses the header field Accept-Encoding.
package accept

import (
	"strconv"
	"strings"
)

// Gzip reports whether a client that sends these Accept-Encoding header fields prefers gzip
// to the identity coding, or both equally (RFC 9110, section 12.5.3).
func Gzip(values []string) bool {
	if len(values) == 1 && values[0] == "gzip" {
		return true
	}
	gzip, identity, other := -1.0, -1.0, -1.0
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			coding, params, _ := strings.Cut(item, ";")
			q := quality(params)
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				gzip = max(gzip, q)
			case "identity":
				identity = q
			case "*":
				other = q
			}
		}
	}
	if gzip < 0 {
		gzip = other
	}
	return gzip > 0 && gzip >= identity
}

// quality returns the q parameter among params. An invalid one counts as a refusal, which
// costs bandwidth but excludes no client.
func quality(params string) float64 {
	params = strings.TrimSpace(params)
	if params == "" {
		return 1
	}
	name, value, _ := strings.Cut(params, "=")
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if !strings.EqualFold(strings.TrimSpace(name), "q") || err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}
