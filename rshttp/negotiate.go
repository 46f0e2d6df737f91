package rshttp

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (d *document) writeTo(w io.Writer, zipped bool) error {
	if !zipped {
		return d.WritePlain(w)
	}
	_, err := w.Write(d.Gzip)
	return err
}

// notModified evaluates the preconditions of a GET or HEAD request (RFC 9110,
// section 13.2.2).
func (d *document) notModified(h http.Header, etag string, dated bool) bool {
	if values := h["If-None-Match"]; len(values) > 0 {
		for _, v := range values {
			for tag := range strings.SplitSeq(v, ",") {
				tag = strings.TrimSpace(tag)
				if tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
					return true
				}
			}
		}
		return false
	}
	since := h.Get("If-Modified-Since")
	if since == "" || !dated {
		return false
	}
	t, err := http.ParseTime(since)
	return err == nil && !d.state.modified.Truncate(time.Second).After(t)
}

// acceptsGzip reports whether a client prefers gzip to the identity coding, or both equally
// (RFC 9110, section 12.5.3).
func acceptsGzip(values []string) bool {
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
