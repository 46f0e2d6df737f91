package destination_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// TestCopiedManifest has a copy of a manifest (rel="contents") with other paths than the manifest
// in the package, which decides. No resource is requested.
func TestCopiedManifest(t *testing.T) {
	t.Parallel()
	plain := func(name, md string) string {
		return `<url><loc>BASE/` + name + `</loc><lastmod>2025-01-01T00:30:00Z</lastmod><rs:md ` + md + `/></url>`
	}
	dated := func(entries string) string {
		return strings.Replace(manifest("resourcedump", entries), "2013-01-03T09:00:00Z", "2025-01-01T01:00:00Z", 1)
	}
	own := dated(plain("a", `path="/1"`) + plain("b", `path="/2"`))
	const at = ` at="2025-01-01T01:00:00Z"` // of the manifests and of the dump
	for name, test := range map[string]struct {
		copied   string
		deviates bool
	}{
		"the same":   {own, false},
		"without at": {strings.Replace(own, at, "", 1), false},
		"formatted":  {strings.ReplaceAll(own, "<url>", "\n<url>"), false},
		"local":      {strings.ReplaceAll(own, `path="/`, `path="/home/me/dump/`), true},
		"exchanged":  {strings.NewReplacer(`"/1"`, `"/2"`, `"/2"`, `"/1"`).Replace(own), true},
		"others too": {strings.ReplaceAll(dated(plain("c", `path="/3"`)), "</urlset>", plain("a", `path="/1"`)+plain("b", `path="/2"`)+"</urlset>"), false},
	} {
		for _, listed := range []bool{true, false} {
			inside := own
			if name == "without at" {
				inside = test.copied
			}
			s, base := newScript(t, nil)
			capabilities := []string{"resourcedump"}
			if listed {
				capabilities = append(capabilities, "resourcelist")
			}
			full := strings.NewReplacer("BASE", base)
			s.set(lists(map[string]string{
				"/resourcelist.xml": resourcesOf(1, plain("a", ""), plain("b", "")),
				"/resourcedump.xml": openURLSet + `<rs:md capability="resourcedump"` + at + `/><url><loc>BASE/dump.zip</loc><rs:ln rel="contents" href="BASE/copy.xml"/></url></urlset>`,
				"/copy.xml":         test.copied,
				"/dump.zip":         zipOf(t, 8, "manifest.xml", full.Replace(inside), "1", "A", "2", "B"),
				"/a":                "requested", "/b": "requested",
			}, capabilities...))
			m := openMirror(t, base, t.TempDir(), &destination.Options{Dumps: destination.DumpsAlways})
			r := m.sync(t)
			if got, want := files(t, m.dir), map[string]string{"a": "A", "b": "B"}; !maps.Equal(got, want) && name != "others too" {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
			if r.Packages != 1 || reports(r, "has other paths") != test.deviates || s.requested("/a") > 0 {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}
