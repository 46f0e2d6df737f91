package check_test

import (
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

// TestPeers has the judgements about Sources as other implementations publish them.
func TestPeers(t *testing.T) {
	for name, want := range map[string][]string{
		"hyrax":           {"datetime-missing", "newest-first"},
		"weko":            {"attribute-unknown", "capability-repeated", "datetime-missing", "from-missing", "link-index-missing", "part-interval"},
		"pod":             {"changes-missing", "link-index-missing", "resource-unreachable"},
		"pinakes":         {"attribute-misplaced", "datetime-missing", "from-missing", "list-paging", "newest-first"},
		"riverhog":        {"attribute-unknown", "capability-missing", "lastmod-missing", "link-index-missing", "link-up-missing"},
		"dspace":          {"capability-unknown", "datetime-missing", "time-future", "well-known-missing"},
		"py-resourcesync": {"capability-repeated", "datetime-missing", "package-unreachable", "uri-syntax"},
		"simulator":       {"closed-changed", "no-validators", "unstable"},
		"resync":          {"capability-missing", "capability-unknown", "datetime-missing", "from-missing", "length-value"},
		"sitemap":         {"well-known-missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, counts := peer(t, name).judge(t, nil)
			if found := rulesOf(counts); !slices.Equal(found, want) {
				t.Errorf("found %q, want %q:\n%s", found, want, describe(r))
			}
		})
	}
}
