package sitemap

import (
	"encoding/json"
	"time"
)

// A stamp is the state of a page beside its entry, in the Stamp of its resource.
type stamp struct {
	// Listed is the lastmod in its sitemap at the last check.
	Listed time.Time `json:"l,omitzero"`

	// ETag and Modified are its validators.
	ETag     string `json:"e,omitempty"`
	Modified string `json:"m,omitempty"`

	// Hashed says that its text was read.
	Hashed bool `json:"h,omitempty"`

	// Reason is why it is withheld.
	Reason string `json:"r,omitempty"`
}

func parseStamp(s string) (out stamp) {
	_ = json.Unmarshal([]byte(s), &out) // a stamp of something else is none
	return out
}

func (s stamp) String() string {
	b, err := json.Marshal(s)
	if err != nil {
		return "" // a time that JSON cannot write: the page will be looked at again
	}
	return string(b)
}

// isCurrent reports whether a page needs no check although its sitemap names the
// time listed. A time older than before does not count as a change.
func (s stamp) isCurrent(listed time.Time) bool { return !listed.After(s.Listed) }

// seen returns the Listed of a page that is checked now. Another change may get the
// same time: within the second, or within the day if a sitemap names days. Until
// then, the page is checked again.
func seen(listed time.Time) time.Time {
	grain := time.Second
	if listed.Equal(listed.Truncate(24 * time.Hour)) {
		grain = 24 * time.Hour
	}
	if !listed.IsZero() && time.Since(listed) < grain+settled {
		return listed.Add(-1)
	}
	return listed
}
