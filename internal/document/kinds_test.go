package document

import (
	"strings"
	"testing"
)

// TestKinds checks the rows of the table of kinds: each has a renderer or another way
// to be served, and names only existing rows.
func TestKinds(t *testing.T) {
	rows := map[string]*Kind{}
	for _, k := range kinds(&Config{PlainSitemaps: true, HTML: true}, &Description{}, true) {
		if rows[k.Name] != nil {
			t.Errorf("two kinds have the name %s", k.Name)
		}
		rows[k.Name] = k
	}
	for name, k := range rows {
		switch {
		case (k.Render == nil) == (k.Form == FormDocument):
			t.Errorf("%s must be either rendered or served", name)
		case k.Needs == nil && (k.State != nil || k.listed != nil):
			t.Errorf("%s is of no set, but has a state of one", name)
		case k.Parent != "" && (rows[k.Parent] == nil || rows[k.Parent].Capability != k.Capability):
			t.Errorf("%s has no index %q of its capability", name, k.Parent)
		case k.Manifest != "" && (rows[k.Manifest] == nil || rows[k.Manifest].Render == nil):
			t.Errorf("%s has no manifest %q", name, k.Manifest)
		case strings.Contains(k.path, "{part") && k.Needs != nil && k.listed == nil:
			t.Errorf("%s has parts that clients can make up, and all count as listed", name)
		}
	}
}

// TestNameOf: every kind of document has a name.
func TestNameOf(t *testing.T) {
	for kind, want := range map[string]string{
		"description": "Source Description", "description-part": "Source Description (part)", "resourcelist-page": "Resource List (page)",
		"changelist-recent": "Change List (recent)", "changedump-manifest": "Change Dump Manifest", "change-notification": "Change Notification",
		"resourcelist-archive-page": "Resource List Archive (page)", "other": "other",
	} {
		if got := NameOf(kind); got != want {
			t.Errorf("%s: %s, expected %s", kind, got, want)
		}
	}
}
