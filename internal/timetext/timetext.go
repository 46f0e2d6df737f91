// Package timetext writes times for people, on pages, in messages and on terminals. Documents,
// JSON and the attributes of logs have times in the format of RFC 3339.
package timetext

import "time"

// Of returns t in UTC, to the second, with the zone.
func Of(t time.Time) string { return t.UTC().Format("2 Jan 2006, 15:04:05 UTC") }
