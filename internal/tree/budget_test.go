package tree

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/fetch"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// A site is a RoundTripper that answers with texts.
type site func(path string) (io.Reader, time.Duration)

// RoundTrip implements [http.RoundTripper].
func (s site) RoundTrip(r *http.Request) (*http.Response, error) {
	text, delay := s(r.URL.Path)
	time.Sleep(delay)
	res := &http.Response{StatusCode: 200, Header: http.Header{}, Request: r}
	if text == nil {
		res.StatusCode, text = 404, strings.NewReader("")
	}
	res.Body = io.NopCloser(text)
	return res, nil
}

// slow is a text whose bytes arrive one by one, at an interval.
type slow struct {
	text  io.Reader
	every time.Duration
}

// Read implements [io.Reader].
func (s *slow) Read(p []byte) (int, error) {
	time.Sleep(s.every)
	return s.text.Read(p[:min(len(p), 1<<10)])
}

func documentText(capability string, locs ...string) string {
	text := `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="` + capability + `"/>`
	for _, loc := range locs {
		text += "<url><loc>" + loc + `</loc><rs:md capability="` + map[bool]string{true: "resourcelist", false: "capabilitylist"}[capability == "capabilitylist"] + `"/></url>`
	}
	return text + "</urlset>"
}

// TestDiscoveryBudget has Sources whose documents above the lists never end.
func TestDiscoveryBudget(t *testing.T) {
	locs := func(path string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("https://example.org%s/%d", path, i))
		}
		return out
	}
	spaces := func(n int64) io.Reader { return io.LimitReader(repeated(' '), n) }
	for name, test := range map[string]struct {
		site     func(path string) (io.Reader, time.Duration)
		rate     float64
		want     error
		requests int // at most
	}{
		"descriptions of descriptions": {func(path string) (io.Reader, time.Duration) {
			if strings.Count(path, "/") > 4 {
				return strings.NewReader(documentText("capabilitylist", "https://example.org/list")), 0
			}
			return strings.NewReader(documentText("description", locs(path, 50)...)), 0
		}, 0, errManyDescriptions, 10_300},
		"a chain": {func(path string) (io.Reader, time.Duration) {
			return strings.NewReader(documentText("description", "https://example.org"+path+"/a")), 0
		}, 0, errDeep, 6},
		"bytes": {func(path string) (io.Reader, time.Duration) {
			if path == WellKnownPath {
				return strings.NewReader(documentText("description", locs("/cl", 50)...)), 0
			}
			text := documentText("capabilitylist", locs("/list", 20)...)
			return strings.NewReader(strings.ReplaceAll(text, "<url>", strings.Repeat(" ", 10_000)+"<url>")), 0
		}, 0, errManyBytes, 7},
		"time": {func(path string) (io.Reader, time.Duration) {
			if path == WellKnownPath {
				return strings.NewReader(documentText("description", locs("/cl", 50)...)), 0
			}
			return strings.NewReader(documentText("capabilitylist", "https://example.org/list")), 50 * time.Second
		}, 0, errSlow, 14},
		"time of one document": {func(path string) (io.Reader, time.Duration) {
			return &slow{spaces(10 << 20), 10 * time.Second}, 0
		}, 0, errSlow, 1},
		"a low rate": {func(path string) (io.Reader, time.Duration) {
			if path == WellKnownPath {
				return strings.NewReader(documentText("description", locs("/cl", 50)...)), 0
			}
			return strings.NewReader(documentText("capabilitylist", "https://example.org/list")), 0
		}, 1. / 30, nil, 51},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				count := site(func(path string) (io.Reader, time.Duration) {
					requests++
					return test.site(path)
				})
				r := &Reader{
					Client: fetch.New(fetch.Options{Transport: count, IgnoreRobots: true, Rate: test.rate}),
					Report: func(string, *rsxml.SyntaxError) {},
				}
				budget, ctx := newBudget(t.Context())
				if test.want == errManyBytes {
					budget.bytes = maxBytes - 1_000_000 // reading all of them takes long
				}
				r.budget = budget
				sets, err := r.discover(ctx, mustURL("https://example.org/"))
				if !errors.Is(err, test.want) || test.want == nil && len(sets) != 50 {
					t.Errorf("%d sets, %v", len(sets), err)
				}
				if requests > test.requests {
					t.Errorf("%d requests, want at most %d", requests, test.requests)
				}
			})
		})
	}
}

// A repeated reader repeats a byte.
type repeated byte

// Read implements [io.Reader].
func (r repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}
