package state

import (
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// A package supplies the content of a pending change only if its entry can describe no other version.
func TestPackagedVersion(t *testing.T) {
	second := func(n int) time.Time { return time.Date(2026, 1, 1, 12, 0, n, 0, time.UTC) }
	version := func(lastmod, datetime time.Time) *resourcesync.Change {
		return &resourcesync.Change{Datetime: datetime, Resource: resourcesync.Resource{LastModified: lastmod, Length: resourcesync.Bytes(30)}}
	}
	hashed := version(second(1), second(5))
	hashed.Resource.Hashes = []resourcesync.Hash{{Algorithm: "sha-256", Digest: "1"}}
	at := second(9) // of the package
	for name, c := range map[string]struct {
		noted, packaged *resourcesync.Change
		same            bool
	}{
		"the same lastmod":                       {version(second(1), time.Time{}), version(second(1), time.Time{}), true},
		"another lastmod":                        {version(second(1), time.Time{}), version(second(2), time.Time{}), false},
		"the same change":                        {version(second(1), second(5)), version(second(1), second(5)), true},
		"another change":                         {version(second(1), second(5)), version(second(1), second(6)), false},
		"lastmod shows the change":               {version(second(5), time.Time{}), version(second(5), second(5)), true},
		"an older lastmod of a noted entry":      {version(second(1), time.Time{}), version(second(1), second(5)), false},
		"an older lastmod of a packaged version": {version(second(1), second(5)), version(second(1), time.Time{}), false},
		"a second that was not over":             {version(second(9), time.Time{}), version(second(9), time.Time{}), false},
		"a change in a second that was not over": {version(second(1), second(9)), version(second(1), second(9)), false},
		"no times":                               {version(time.Time{}, time.Time{}), version(time.Time{}, time.Time{}), false},
		"the same hash":                          {hashed, hashed, true},
	} {
		if same := sameVersion(c.noted, c.packaged) && isOver(c.packaged, at); same != c.same {
			t.Errorf("%s: the version counts as the same: %t", name, same)
		}
	}
}
