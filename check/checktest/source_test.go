package checktest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/check/checktest"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// site is a website with a Source.
func site(t *testing.T) http.Handler {
	set := memory.New(nil)
	for i := range 3 {
		if err := set.Put(t.Context(), resource(i)); err != nil {
			t.Fatal(err)
		}
	}
	src, err := rshttp.New(base+"resourcesync/", []rshttp.Set{{Provider: set}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return src.Wrap(http.HandlerFunc(papers))
}

//docs:begin test
func TestSource(t *testing.T) {
	checktest.Source(t, site(t), "https://example.org/", nil)
}

//docs:end

// A recorder is a test that records its failures.
type recorder struct {
	testing.TB
	errors, logs []string
	fatal        bool
}

func (r *recorder) Helper()           {}
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Log(args ...any)   { r.logs = append(r.logs, fmt.Sprint(args...)) }
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}
func (r *recorder) Fatal(...any)          { r.fatal = true; panic(r) }
func (r *recorder) Fatalf(string, ...any) { r.Fatal() }

// TestViolations holds that violations fail a test, and that advice does not.
func TestViolations(t *testing.T) {
	bad := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/resourcesync" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:md capability="description"/>`+strings.Repeat("<url/>", 30)+`<url><loc>https://elsewhere.example.org/caps.xml</loc></url></urlset>`)
	})
	r := &recorder{TB: t}
	report := checktest.Source(r, bad, base, &check.Options{Pause: -1})
	if len(r.errors) != 21 || report.Forces[check.Must] != 31 || !strings.HasPrefix(r.errors[0], base+".well-known/resourcesync:2:34: error: an entry has no loc [loc-missing, Core 7: must]. Add the URI") {
		t.Errorf("%v, errors %q", report.Forces, r.errors)
	}
	if !strings.Contains(r.errors[20], "request for a host other than") {
		t.Errorf("another host: %s", r.errors[20])
	}
	if logs := strings.Join(r.logs, "\n"); !strings.Contains(logs, "no-validators") || !strings.Contains(logs, "10 further findings of the rule loc-missing") {
		t.Errorf("logs %s", logs)
	}
	for _, target := range []string{"example.org", "https://example.org/nothing"} {
		r := &recorder{TB: t}
		func() {
			defer func() { recover() }()
			checktest.Source(r, http.NotFoundHandler(), target, nil)
		}()
		if !r.fatal {
			t.Errorf("%s: the test continues", target)
		}
	}
}
