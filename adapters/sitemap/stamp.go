package sitemap

import (
	"encoding/json"
	"time"
)

// A stamp is the result of the last check of a page, stored in the Stamp of its
// resource.
type stamp struct {
	// Listed is the lastmod in its sitemap at the last check.
	Listed time.Time `json:"l,omitzero"`

	// ETag and Modified are the validators of the page.
	ETag     string `json:"e,omitempty"`
	Modified string `json:"m,omitempty"`

	// Hashed reports whether the page was read.
	Hashed bool `json:"h,omitempty"`

	// Variant is the [Options.Variant] that was listed, with the rules, shortened.
	Variant string `json:"v,omitempty"`

	// Digest is the hash of a page that is listed without one.
	Digest string `json:"d,omitempty"`

	// Uncacheable reports whether the page says private or no-store.
	Uncacheable bool `json:"u,omitempty"`

	// Reason is the reason why the page is withheld.
	Reason string `json:"r,omitempty"`

	// Refused is the time at which the page left the lists because the website refuses it to strangers.
	Refused time.Time `json:"s,omitzero"`
}

func parseStamp(s string) (out stamp) {
	_ = json.Unmarshal([]byte(s), &out) // the stamp of another scanner reads as zero
	return out
}

func (s stamp) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return "" // a time that JSON cannot express: the page will be checked again
	}
	return string(b)
}

// isCurrent reports whether a page with the lastmod listed needs no check. A lastmod
// that has moved back does not count as a change.
func (s stamp) isCurrent(listed time.Time) bool { return !listed.After(s.Listed) }

// listedAt returns the Listed of a page that is checked now. Another change may get the
// same lastmod: within the second, or within the day if the sitemap has dates. During
// that time, listedAt returns an earlier time, so that the page is checked again.
func listedAt(listed time.Time) time.Time {
	grain := time.Second
	if listed.Equal(listed.Truncate(24 * time.Hour)) {
		grain = 24 * time.Hour
	}
	if !listed.IsZero() && time.Since(listed) < grain+settled {
		return listed.Add(-1)
	}
	return listed
}
