package status

import (
	"testing"
	"time"
)

func TestBehind(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		read, newest time.Time
		want         float64
	}{
		{time.Time{}, at, -1},
		{at, time.Time{}, -1},
		{at, at, 0},
		{at.Add(time.Second), at, 0},
		{at.Add(-90 * time.Second), at, 90},
	} {
		got := Behind(test.read, test.newest)
		if (got == nil) != (test.want < 0) || got != nil && *got != test.want {
			t.Errorf("%v of %v: %v, expected %v", test.read, test.newest, got, test.want)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "less than a minute", time.Minute: "1 minute", 119 * time.Minute: "1 hour", 47 * time.Hour: "1 day", 48 * time.Hour: "2 days", 24 * 400 * time.Hour: "400 days"} {
		if got := lag(d); got != want {
			t.Errorf("%v: %s, expected %s", d, got, want)
		}
	}
}

// TestDocumentNames: every kind of document has a name.
func TestDocumentNames(t *testing.T) {
	for kind, want := range map[string]string{
		"description": "Source Description", "description-part": "Source Description (part)", "resourcelist-page": "Resource List (page)",
		"changelist-recent": "Change List (recent)", "changedump-manifest": "Change Dump Manifest", "change-notification": "Change Notification",
		"resourcelist-archive-page": "Resource List (archive page)", "other": "other",
	} {
		if got := documentName(kind); got != want {
			t.Errorf("%s: %s, expected %s", kind, got, want)
		}
	}
}
