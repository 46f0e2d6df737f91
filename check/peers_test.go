package check_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// peer returns the site in a file of testdata/peers.
func peer(t *testing.T, name string) *site {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "peers", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	var path, kind string
	header := regexp.MustCompile(`^-- (\S+) (\S+) --$`)
	bodies := make(map[string]*strings.Builder)
	for line := range strings.Lines(string(text)) {
		if m := header.FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			path, kind = m[1], m[2]
			bodies[path] = new(strings.Builder)
			s.add(path, "").kind = kind
			continue
		}
		bodies[path].WriteString(strings.ReplaceAll(line, "\r\n", "\n"))
	}
	for path, b := range bodies {
		f := s.files[path]
		f.body = strings.ReplaceAll(b.String(), "{soon}", time.Now().Add(2*time.Hour).UTC().Format(time.RFC3339))
		if !strings.Contains(f.body, "{now}") {
			continue
		}
		text := f.body
		f.serve = func(w http.ResponseWriter, _ *http.Request, _ int) {
			w.Header().Set("Content-Type", "application/xml")
			w.Write([]byte(strings.ReplaceAll(s.fill(text), "{now}", time.Now().UTC().Format(time.RFC3339Nano))))
		}
	}
	return s
}

// TestPeers has the judgements about Sources as other implementations publish them: exactly these
// rules, each with the section of the sentence that is broken, and its force.
func TestPeers(t *testing.T) {
	for name, want := range map[string][]string{
		"hyrax": {
			"datetime-missing: Core 12.1, none",
			"newest-first: Core 7, none",
		},
		"weko": {
			"attribute-unknown: Core 7, must",
			"capability-repeated: Core 9, must",
			"datetime-missing: Core 12.1, none",
			"from-missing: Core 12.1, must",
			"link-index-missing: Core 12.1, should",
			"part-interval: Core 12.2, must",
		},
		"pod": {
			"changes-missing: Core 12, may",
			"link-index-missing: Core 10.1, should",
			"resource-unreachable: Core 10.1, must",
		},
		"pinakes": {
			"attribute-misplaced: Core 7, must",
			"datetime-missing: Core 12.1, none",
			"from-missing: Core 12.1, must",
			"list-paging: Core 7, none",
			"newest-first: Core 7, none",
			"resource-repeated: Core 10.1, none",
		},
		"riverhog": {
			"attribute-unknown: Core 7, must",
			"capability-missing: Core 7, must",
			"lastmod-missing: Core 10.2, none",
			"link-index-missing: Core 10.1, should",
			"link-up-missing: Core 10.1, must",
			"link-up-missing: Core 10.2, must",
		},
		"dspace": {
			"capability-unknown: Core 7, must",
			"datetime-missing: Core 12.1, none",
			"link-uncovered: Core 6.3.3, must",
			"time-future: Core 7, must",
			"well-known-missing: Core 6.3.2, should",
		},
		"py-resourcesync": {
			"capability-repeated: Core 9, must",
			"datetime-missing: Core 12.1, none",
			"package-unreachable: Core 11.1, must",
			"uri-syntax: Core 7, must",
		},
		"simulator": {
			"closed-changed: Core 12.1, must",
			"no-validators: RFC 9110 8.8, should",
			"unstable: Core 10.1, none",
		},
		"resync": {
			"capability-missing: Core 7, must",
			"capability-unknown: Core 6.1, none",
			"datetime-missing: Core 12.1, none",
			"from-missing: Core 12.1, must",
			"length-value: Core 7, must",
			"uri-syntax: Core 7, must",
		},
		"sitemap": {
			"well-known-missing: Core 6.3.2, should",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := peer(t, name).judge(t, nil)
			var found []string
			for _, f := range r.Findings {
				if s := fmt.Sprintf("%s: %s, %s", f.Rule, f.Section, f.Force); !slices.Contains(found, s) {
					found = append(found, s)
				}
			}
			slices.Sort(found)
			if !slices.Equal(found, want) {
				t.Errorf("found %q, want %q:\n%s", found, want, describe(r))
			}
		})
	}
}
