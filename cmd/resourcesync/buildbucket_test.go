package main

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/azuretest"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// inBucket returns the URL of a bucket with a prefix.
func inBucket(t *testing.T, bucket string) string {
	t.Helper()
	u, err := url.Parse(bucket)
	must(t, err)
	u.Path = "/site/"
	return u.String()
}

// TestBuildInBucket: documents in a bucket behind a proxy have no faults, and a mirror of them is
// identical, by lists and by dumps, after changes and with compressed documents.
func TestBuildInBucket(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) (out, public string, environ []string){
		"S3": func(t *testing.T) (string, string, []string) {
			b := s3test.New(t)
			b.Publish(t, "site/*")
			return b.URL, b.Public, b.Environ()
		},
		"Azure": func(t *testing.T) (string, string, []string) {
			b := azuretest.New(t)
			b.Publish(t)
			return b.URL, b.Public, b.Environ()
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, public, environ := open(t)
			for _, variable := range environ {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			objects, err := url.Parse(strings.Replace(public, "{key}", "site", 1))
			must(t, err)
			files, root := http.Handler(nil), objects.Path
			proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = objects.Scheme, objects.Host, objects.Host
				r.Out.URL.Path = path.Join(root, r.In.URL.Path)
			}}
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/files/") {
					files.ServeHTTP(w, r)
					return
				}
				proxy.ServeHTTP(w, r)
			}))
			defer site.Close()
			b := newBuilt(t, inBucket(t, out), site.URL+"/", "--page-size", "10", "--dumps", "--dumps-every", "0", "--package-size", "2KB")
			files = http.FileServer(http.Dir(b.folder))
			first := b.build()
			if len(first.Written) != first.Documents || first.Documents < 8 {
				t.Errorf("%+v", first)
			}
			if again := b.build(); len(again.Written)+len(again.Removed) > 0 {
				t.Errorf("once more: %+v", again)
			}
			report, err := check.Check(t.Context(), site.URL+"/", &check.Options{All: true, Pause: -1})
			must(t, err)
			if !report.OK() {
				t.Errorf("%+v", report.Findings)
			}
			copies := map[string]string{"never": t.TempDir(), "always": t.TempDir()}
			for _, text := range []string{"first", "second"} {
				for i := range 12 {
					b.write(i, text)
				}
				b.build("--gzip")
				for dumps, copied := range copies {
					if status, stdout, stderr := runMirror(t, site.URL+"/", copied, "--use-dumps", dumps); status != 0 {
						t.Fatalf("mirror: status %d: %s%s", status, stdout, stderr)
					}
					if want, got := contents(t, b.folder), contents(t, copied); !maps.Equal(want, got) {
						t.Errorf("%d files, the copy has %d", len(want), len(got))
					}
				}
			}
		})
	}
}

// TestBuildInNoBucket: a bucket that does not exist or cannot be meant is an error.
func TestBuildInNoBucket(t *testing.T) {
	missing := strings.Replace(newBucket(t).URL, "s3://", "s3://missing-", 1)
	for name, test := range map[string]struct {
		out    string
		flags  []string
		status int
		want   string
	}{
		"missing":        {missing, nil, 1, "NoSuchBucket"},
		"unknown store":  {"ftp://papers", nil, 2, "the scheme ftp is not known"},
		"password":       {"s3://user:secret@papers", nil, 2, "set credentials in the environment"},
		"gzip in Google": {"gs://papers", []string{"--gzip"}, 2, "--gzip: is not for gs://"},
	} {
		b := newBuilt(t, test.out, "https://files.example.org/", test.flags...)
		if _, status, stderr := b.try(); status != test.status || !strings.Contains(stderr, test.want) || strings.Contains(stderr, "secret@") {
			t.Errorf("%s: status %d: %s", name, status, stderr)
		}
	}
}
