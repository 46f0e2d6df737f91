package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestMirrorCertificate: the error of a Source whose certificate cannot be trusted says whom to ask,
// and that a service tries again by itself.
func TestMirrorCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	_, refused := http.Get(server.URL)
	for again, flags := range map[string][]string{"and run it again": nil, "the next run tries again": {"--follow"}} {
		c, err := parseMirror(append([]string{server.URL, "copy"}, flags...))
		must(t, err)
		got := c.AuditResult(nil, refused, terminal.New(io.Discard), io.Discard).Error()
		if !strings.Contains(got, "certificate signed by unknown authority); ask the operator of the Source to renew it") || !strings.HasSuffix(got, again) {
			t.Errorf("%v: %s", flags, got)
		}
	}
}

// TestMirrorAdvice: runs and audits that find problems say what to do.
func TestMirrorAdvice(t *testing.T) {
	after := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	waits := destination.GoneSet{URI: "https://example.org/cl.xml", Resources: 2, After: after}
	held := destination.GoneSet{URI: "https://example.org/cl.xml", Resources: 2, Held: true}
	unreadable := destination.GoneSet{URI: "https://example.org/cl.xml", Resources: 2, Reason: "its Capability List cannot be read: 500"}
	two := destination.Found{Count: 2}
	for name, test := range map[string]struct {
		report *destination.Report
		audit  *destination.AuditReport
		want   string
	}{
		"failed":                   {&destination.Report{Failed: 2}, nil, "2 resources could not be copied; run it again to retry"},
		"paused":                   {&destination.Report{Failed: 2, Pauses: []destination.Pause{{Host: "https://example.org:443", Until: after}}}, nil, "https://example.org:443 has asked for a pause (Retry-After), so run it again after 2 Jan 2026, 03:04:05 UTC"},
		"held":                     {&destination.Report{Held: 9}, nil, "no longer lists 9 resources of the copy, so their deletions are held; if that is intended, run it again with --max-delete 100%"},
		"a set waits":              {&destination.Report{Gone: []destination.GoneSet{waits}}, nil, "the Source no longer names the set https://example.org/cl.xml; its 2 resources stay in the copy until mirror has run again after 2 Jan 2026, 03:04:05 UTC"},
		"a set is held":            {&destination.Report{Held: 2, Gone: []destination.GoneSet{held}}, nil, "including all of the set https://example.org/cl.xml, so their deletions are held; if that is intended, run it again with --max-delete 100%"},
		"a set cannot be read":     {&destination.Report{Gone: []destination.GoneSet{unreadable}}, nil, "its 2 resources stay in the copy: its Capability List cannot be read: 500"},
		"audit, missing":           {nil, &destination.AuditReport{Missing: two}, "the copy differs from the Source; run mirror without --audit to update and repair it"},
		"audit, a set waits":       {nil, &destination.AuditReport{Extra: two, Gone: []destination.GoneSet{waits}}, "the copy differs from the Source; the Source no longer names the set https://example.org/cl.xml; its 2 resources stay in the copy until mirror has run again after 2 Jan 2026, 03:04:05 UTC"},
		"audit, a set is held":     {nil, &destination.AuditReport{Extra: two, Held: 2, Gone: []destination.GoneSet{held}}, "the copy differs from the Source; the deletions of 2 resources are held, including all of the set https://example.org/cl.xml; if they are intended, run mirror with --max-delete 100%"},
		"audit, held and damaged":  {nil, &destination.AuditReport{Extra: two, Held: 2, Damaged: two}, "the copy differs from the Source; run mirror without --audit to update and repair it; the deletions of 2 resources are held; if they are intended, run mirror with --max-delete 100%"},
		"audit, more than is held": {nil, &destination.AuditReport{Extra: destination.Found{Count: 3}, Held: 2}, "run mirror without --audit to update and repair it; the deletions of 2 resources are held"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := parseMirror([]string{"https://example.org/", "copy"})
			must(t, err)
			if test.audit != nil {
				err = c.AuditResult(test.audit, nil, terminal.New(io.Discard), io.Discard)
			} else {
				err = c.Result(test.report, nil, terminal.New(io.Discard), io.Discard)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// TestReleaseElsewhere: the command that releases deletions finds the copy from any folder.
func TestReleaseElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	for want, args := range map[string][]string{
		"resourcesync mirror https://example.org/ /.*/copy --max-delete 100%":                                  {"copy"},
		"resourcesync mirror https://example.org/ s3://bucket/copy --state-folder /.*/state --max-delete 100%": {"s3://bucket/copy", "--state-folder", "state"},
	} {
		c, err := parseMirror(append([]string{"https://example.org/"}, args...))
		must(t, err)
		if got := c.Release(); !regexp.MustCompile("^" + want + "$").MatchString(got) {
			t.Error(got)
		}
	}
}

// TestMirrorNoAnswer: if a Source does not answer, one line says what to do.
func TestMirrorNoAnswer(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	s := httptest.NewServer(http.NotFoundHandler())
	s.Close()
	for _, flags := range [][]string{nil, {"--json"}, {"--audit"}} {
		status, stdout, stderr := runMirror(t, append([]string{s.URL, t.TempDir()}, flags...)...)
		if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "the Source does not answer, and the copy stays as before; check the URL and the network, and run it again: ") {
			t.Errorf("%v: status %d, %q, %q", flags, status, stdout, stderr)
		}
	}
}

// TestMirrorPrivateAddresses: if a Source has many resources at another port of its host, which
// has a private address, one line says what to do.
func TestMirrorPrivateAddresses(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
		}
	}))
	defer other.Close()
	list := `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>`
	for i := range 30 {
		list += fmt.Sprintf("<url><loc>%s/%d</loc></url>", other.URL, i)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/list.xml" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, list, "</urlset>")
	}))
	defer s.Close()
	dir := t.TempDir()
	status, _, stderr := runMirror(t, s.URL+"/list.xml", dir)
	if status != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "30 resources could not be copied; some are at private addresses such as 127.0.0.1: if the Source may lead there, run it again with --allow-addresses 127.0.0.1/32") {
		t.Errorf("status %d, %s", status, stderr)
	}
	if status, _, stderr := runMirror(t, s.URL+"/list.xml", dir, "--allow-addresses", "127.0.0.1/32"); status != 0 {
		t.Errorf("with --allow-addresses: status %d, %s", status, stderr)
	}
}
