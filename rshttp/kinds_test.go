package rshttp

import (
	"strings"
	"testing"
)

// TestKinds holds the rows of the table of kinds together: each is rendered or served
// otherwise, and names only rows that exist.
func TestKinds(t *testing.T) {
	rows := map[string]*kind{}
	for _, k := range kinds(&config{PlainSitemaps: true, HTML: true}, &description{}, true) {
		if rows[k.name] != nil {
			t.Errorf("two kinds have the name %s", k.name)
		}
		rows[k.name] = k
	}
	for name, k := range rows {
		switch {
		case (k.render == nil) == (k.form == formDocument):
			t.Errorf("%s must be either rendered or served", name)
		case k.needs == nil && (k.state != nil || k.listed != nil):
			t.Errorf("%s is of no set, but has a state of one", name)
		case k.parent != "" && (rows[k.parent] == nil || rows[k.parent].capability != k.capability):
			t.Errorf("%s has no index %q of its capability", name, k.parent)
		case k.manifest != "" && (rows[k.manifest] == nil || rows[k.manifest].render == nil):
			t.Errorf("%s has no manifest %q", name, k.manifest)
		case strings.Contains(k.path, "{part") && k.needs != nil && k.listed == nil:
			t.Errorf("%s has parts that clients can make up, and all count as listed", name)
		}
	}
}
