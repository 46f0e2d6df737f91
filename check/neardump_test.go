package check_test

import (
	"slices"
	"strings"
	"testing"
)

// dumpedAt gives the Resource Dump, which lacks c, another time.
func dumpedAt(at string) func(*testing.T, *site) {
	return func(t *testing.T, s *site) {
		for _, path := range []string{dump, dumpZIP, "/dump-1.xml"} {
			s.edit(t, path, ` at="2025-01-31T00:00:00Z"`, ` at="`+at+`"`)
		}
	}
}

// newDump dates the Resource Dump as the Resource List.
func newDump(t *testing.T, s *site) { dumpedAt("2025-03-01T00:00:00Z")(t, s) }

// packedC is the entry of c in a manifest.
const packedC = `<url><loc>{base}/c</loc><rs:md path="/c" hash="sha-256:{sha256 /c}" length="{length /c}"/></url></urlset>`

// nearDump has Resource Dumps without a resource of the Resource List, each of which lacks one
// condition of dump-incomplete.
var nearDump = map[string]func(*testing.T, *site){
	"dump-incomplete: in a package": both(newDump, edit(dumpZIP, "</urlset>", packedC), edit("/dump-1.xml", "</urlset>", packedC), func(_ *testing.T, s *site) {
		s.packs[dumpZIP] = append(s.packs[dumpZIP], member{"c", "Claudia"})
	}),
	"dump-incomplete: listed at the first reading only": both(newDump, func(t *testing.T, s *site) {
		body := s.files[list2].body
		changing(list2, body[strings.Index(body, "<url>"):strings.Index(body, "</urlset>")], "")(t, s)
	}),
	"dump-incomplete: as old as the dump":            both(newDump, edit(list2, "2025-02-03", "2025-03-01")),
	"dump-incomplete: of unknown age":                both(newDump, edit(list2, `<lastmod>2025-02-03T00:00:00Z</lastmod>`, "")),
	"dump-incomplete: changed since the list":        both(newDump, edit(changes2, `datetime="2025-02-0`, `datetime="2025-03-0`)),
	"dump-incomplete: changed between dump and list": both(dumpedAt("2025-02-03T00:00:00Z"), edit(list2, "2025-02-03", "2025-02-01")),
	"dump-incomplete: perhaps listed since": both(dumpedAt("2024-12-31T00:00:00Z"), edit(list2, "2025-02-03", "2024-01-01"),
		edit(changes2, `{base}/c</loc><rs:md change="updated"`, `{base}/e</loc><rs:md change="deleted"`)),
	"dump-incomplete: in a package that is not read": both(newDump, noContents, func(t *testing.T, s *site) {
		for _, path := range []string{"/dump-2.zip", "/dump-3.zip"} { // two of three are read
			s.packs[path] = s.packs[dumpZIP]
			s.edit(t, dump, "</urlset>", `<url><loc>{base}`+path+`</loc><lastmod>2025-03-01T00:00:00Z</lastmod></url></urlset>`)
		}
	}),
}

// TestDumpIncomplete has the dump of nearDump for which all conditions are met.
func TestDumpIncomplete(t *testing.T) {
	s := correct(t)
	both(dumpedAt("2025-02-03T00:00:01Z"), edit(list2, "2025-02-03", "2025-02-01"))(t, s)
	if r, counts := s.judge(t, nil); !slices.Equal(rulesOf(counts), []string{"dump-incomplete"}) {
		t.Errorf("found:\n%s", describe(r))
	}
}
