package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPublish: the documents of a set are in a bucket a few seconds after a change, while a process
// serves the files and the notifications. A mirror by the bucket is identical.
func TestPublish(t *testing.T) {
	b := newBucket(t)
	objects, err := url.Parse(strings.TrimSuffix(b.Public, "{key}"))
	must(t, err)
	bucket := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = objects.Scheme, objects.Host, objects.Host
		r.Out.URL.Path = objects.Path + "site" + r.In.URL.Path
	}}
	var process http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isDocument := strings.HasPrefix(r.URL.Path, "/resourcesync/") && strings.HasSuffix(r.URL.Path, ".xml") || strings.HasPrefix(r.URL.Path, "/.well-known/")
		if isDocument {
			bucket.ServeHTTP(w, r)
			return
		}
		process.ServeHTTP(w, r)
	}))
	defer front.Close()
	folder := t.TempDir()
	for i := range 25 {
		write(t, filepath.Join(folder, fmt.Sprint(i)), "first")
	}
	s := startReady(t, folder, "--base-url", front.URL+"/", "--publish", inBucket(t, b.URL), "--page-size", "10", "--state", filepath.Join(t.TempDir(), "state.db"), "--status", "127.0.0.1:0")
	at, err := url.Parse(s.site)
	must(t, err)
	process = httputil.NewSingleHostReverseProxy(at)
	s.until("the Source Description", func() bool {
		res, _ := get(t, front.URL+"/.well-known/resourcesync")
		return res.StatusCode == http.StatusOK
	})
	_, list := get(t, front.URL+"/resourcesync/capabilitylist.xml")
	if !strings.Contains(list, `"change-notification"`) || !strings.Contains(list, `rel="hub"`) || strings.Contains(list, "framework") || strings.Contains(list, "dump") {
		t.Errorf("the Capability List in the bucket:\n%s", list)
	}
	copied := t.TempDir()
	for _, text := range []string{"second", "the third"} {
		for i := range 7 {
			s.write(fmt.Sprint(i), text)
		}
		began := time.Now()
		s.until(text, func() bool {
			_, list := get(t, front.URL+"/resourcesync/changelist.xml")
			if last := strings.LastIndex(list, "<loc>"); strings.Contains(list, "<sitemapindex") {
				uri, _, _ := strings.Cut(list[last+len("<loc>"):], "</loc>")
				_, list = get(t, uri)
			}
			return strings.Contains(list, fmt.Sprintf(`length="%d"`, len(text)))
		})
		t.Logf("in the bucket after %v", time.Since(began))
		if status, stdout, stderr := runMirror(t, front.URL+"/", copied); status != 0 {
			t.Fatalf("mirror: status %d: %s%s", status, stdout, stderr)
		}
	}
	s.until("a copy", func() bool {
		runMirror(t, front.URL+"/", copied)
		return maps.Equal(contents(t, folder), contents(t, copied))
	})
	code, now := s.toldOperators()
	if code != http.StatusOK || len(now.Published) != 1 || !now.Published[0].Publishing || now.Published[0].Written == 0 || !now.Healthy {
		t.Errorf("%d: %+v", code, now)
	}
}

// TestPublishExample holds that the example of the documents has no faults.
func TestPublishExample(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.yaml")
	write(t, file, snippet(t, "build.md", "## A bucket that follows changes", "yaml"))
	var out bytes.Buffer
	if status := run(t.Context(), []string{"check-config", file}, &out, &out); status != 0 {
		t.Errorf("status %d: %s", status, &out)
	}
}

// TestPublishTogether: sets in one bucket are published together, however their URLs are written,
// and compressed if asked for.
func TestPublishTogether(t *testing.T) {
	b := newBucket(t)
	to := inBucket(t, b.URL)
	file := filepath.Join(t.TempDir(), "site.yaml")
	write(t, file, fmt.Sprintf(`
listen: 127.0.0.1:0
base-url: http://127.0.0.1/
status: 127.0.0.1:0
publish-gzip: true
state: %s
sets:
- {kind: folder, name: maps, folder: %s, path: /maps/, publish: %q}
- {kind: folder, name: papers, folder: %s, path: /papers/, publish: %q}
`, filepath.Join(t.TempDir(), "state.db"), filled(t), to, filled(t), strings.Replace(to, "/site/", "/site", 1)))
	s := startRun(t, file)
	s.until("both sets", func() bool {
		_, now := s.toldOperators()
		return len(now.Published) == 1 && len(now.Published[0].Sets) == 2 && now.Published[0].Documents > 0 && now.Healthy
	})
	res, err := (&http.Transport{DisableCompression: true}).RoundTrip(httptest.NewRequest("GET", strings.ReplaceAll(b.Public, "{key}", "site/.well-known/resourcesync"), nil))
	must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%s, %v", res.Status, res.Header)
	}
}

// filled returns a folder with a file.
func filled(t *testing.T) string {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a"), "first")
	return folder
}
