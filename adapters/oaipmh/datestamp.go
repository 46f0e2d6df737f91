package oaipmh

import "time"

// day and second are the granularities of the protocol (section 3.3).
const (
	day    = 24 * time.Hour
	second = time.Second

	dayLayout    = time.DateOnly
	secondLayout = "2006-01-02T15:04:05Z"
)

// layouts are formats of datestamps. Repositories also have others than the two that the
// protocol allows.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02 15:04:05"}

// parseDatestamp parses a datestamp. onlyDay reports that it has no time of day. A time
// without an offset is in UTC.
func parseDatestamp(text string) (t time.Time, onlyDay, ok bool) {
	if t, err := time.Parse(dayLayout, text); err == nil {
		return t, true, true
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), false, true
		}
	}
	return time.Time{}, false, false
}

// A granularity describes the observed precision of a repository's datestamps.
type granularity struct {
	// Stated is the granularity in the response to Identify.
	Stated string `json:"stated,omitempty"`

	// Seconds reports that a datestamp had a time of day other than midnight, and Days
	// that one had no time of day. Repositories that keep dates only, but state seconds,
	// have datestamps at midnight: a record that changes in the afternoon has one
	// that is hours old.
	Seconds bool `json:"seconds,omitempty"`
	Days    bool `json:"days,omitempty"`

	// Refused is the layout of from and until that the repository has refused.
	Refused string `json:"refused,omitempty"`
}

// observe learns from the datestamp of a record.
func (g *granularity) observe(t time.Time, onlyDay bool) {
	if onlyDay {
		g.Days = true
	} else if t.Truncate(day) != t {
		g.Seconds = true
	}
}

// granule returns the precision of the datestamps: a second only if the repository states
// seconds, and its datestamps show them.
func (g *granularity) granule() time.Duration {
	if g.layout() == secondLayout && g.Seconds && !g.Days {
		return second
	}
	return day
}

// layout returns the layout of from and until that the repository understands.
func (g *granularity) layout() string {
	stated := dayLayout
	if len(g.Stated) > len("YYYY-MM-DD") {
		stated = secondLayout
	}
	if stated == g.Refused {
		return map[string]string{dayLayout: secondLayout, secondLayout: dayLayout}[stated]
	}
	return stated
}

// refuse records that the repository has refused from or until, and reports whether the
// other layout is still to be tried.
func (g *granularity) refuse() (again bool) {
	if g.Refused != "" {
		g.Refused = "" // the reason is not the layout
		return false
	}
	g.Refused = g.layout()
	return true
}

// format returns t as an argument, cut to the granule.
func (g *granularity) format(t time.Time) string {
	return t.UTC().Truncate(g.granule()).Format(g.layout())
}
