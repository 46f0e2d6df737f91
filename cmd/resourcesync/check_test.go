package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// runCheck runs the command in this process.
func runCheck(t testing.TB, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"check", "--pause", "10ms"}, args...), &out, &errs)
	return status, out.String(), errs.String()
}

// TestCheckServe: serve breaks no rule: with one document and with many, after changes,
// with dumps, versions, a hub and WebSockets.
func TestCheckServe(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string][]string{
		"default": nil,
		"sockets": {"--hub", "none", "--websocket"},
		"all":     {"--page-size", "5", "--dumps", "--keep-versions", "30d", "--hub", "own", "--websocket", "--sitemap", "--versions", filepath.Join(t.TempDir(), "versions")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for i := range 12 {
				write(t, filepath.Join(folder, fmt.Sprintf("f%d.txt", i)), strings.Repeat(fmt.Sprint("content ", i), 100))
			}
			s := startReady(t, folder, flags...)
			s.write("Über mich.txt", "text")
			must(t, os.Remove(filepath.Join(folder, "f2.txt")))
			for deadline := time.Now().Add(needs.Patience); strings.Contains(s.listed(), "f2.txt") || !strings.Contains(s.listed(), "mich"); time.Sleep(50 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the changes are not listed")
				}
			}
			status, stdout, stderr := runCheck(t, s.site, "--all", "--format", "json")
			var r check.Report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != 0 || stderr != "" {
				t.Fatalf("status %d, %v, %s\n%s", status, err, stderr, stdout)
			}
			if len(r.Findings)+len(r.Unchecked) > 0 || r.Resources < 12 || r.Documents < 4 {
				t.Errorf("%s", stdout)
			}
		})
	}
}

// broken serves a Source with errors, advice, and a broken must that is advice.
func broken(t *testing.T) string {
	const begin = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">`
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.Header().Set("Last-Modified", "Mon, 06 Jan 2025 00:00:00 GMT")
		switch r.URL.Path {
		case "/.well-known/resourcesync":
			fmt.Fprint(w, begin+`<rs:md capability="description"/><url><loc>`+s.URL+`/caps.xml</loc></url></urlset>`)
		case "/caps.xml":
			fmt.Fprint(w, begin+"\n"+`<rs:md capability="capabilitylist"/><url><loc>`+s.URL+`/&lt;b&gt;.xml</loc><rs:md capability="resourcelist"/></url></urlset>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestCheckFormats writes findings in each format of a report.
func TestCheckFormats(t *testing.T) {
	site := broken(t)
	for format, parts := range map[string][]string{
		"text": {
			"error  unreachable  (must, Core 7)\n", "    " + site + "/caps.xml:2:37 (entry 1)\n", "advice  link-up-missing  (must, Core 9)\n",
			"  Core 9: “A mandatory <rs:ln> child element", "\n  http://www.openarchives.org/rs/1.1/resourcesync#CapabilityList\n",
			"advice  changes-missing  (may, Core 12)", "  Remedy: Publish", "2 errors, 0 warnings, 4 pieces of advice; 3 break a must; 2 break a should. 2 documents with 2 entries, 0 resources and 0 packages were read in ",
		},
		"json":  {`"advice": 4,`, `"error": 2`, `"must": 3,`, `"rule": "unreachable"`, `"line": 2,`, `"entry": 1,`, `"section": "Core 7"`, `"quote": "A mandatory <rs:ln>`, `"remedy": "Publish`},
		"junit": {`<?xml version="1.0"`, `failures="3"`, `skipped="2"`, `<failure message="1 finding. Publish the document`, `type="must, Core 7"`, `<skipped message=`},
		"sarif": {`"version": "2.1.0"`, `"ruleId": "unreachable"`, `"startLine": 2,`, `"name": "entry 1"`, `"uri": "` + site + `/caps.xml"`, `"level": "error"`, `"level": "note"`},
		"html":  {"<!doctype html>", "The Source breaks musts", "<td>2:37 (entry\u00a01)</td>", "<q>A mandatory &lt;rs:ln&gt; child element", "<code>unreachable</code>"},
	} {
		status, stdout, stderr := runCheck(t, site, "--format", format)
		if status != 1 || !strings.Contains(stderr, "found 2 errors, 0 warnings, 4 pieces of advice; 3 break a must; 2 break a should") {
			t.Errorf("%s: status %d, %s", format, status, stderr)
		}
		for _, part := range parts {
			if !strings.Contains(stdout, part) {
				t.Errorf("%s: no %q in\n%s", format, part, stdout)
			}
		}
		switch format {
		case "json":
			var r check.Report
			must(t, json.Unmarshal([]byte(stdout), &r))
		case "junit":
			var suite struct {
				Tests int `xml:"tests,attr"`
				Cases []struct {
					Name string `xml:"name,attr"`
				} `xml:"testcase"`
			}
			must(t, xml.Unmarshal([]byte(stdout), &suite))
			if len(suite.Cases) != len(check.Rules()) || suite.Tests != len(suite.Cases) {
				t.Errorf("%d test cases for %d rules", len(suite.Cases), len(check.Rules()))
			}
		case "html":
			if strings.Contains(stdout, "<b>") {
				t.Errorf("not escaped:\n%s", stdout)
			}
		}
	}
}

// TestCheckStatus checks the exit statuses.
func TestCheckStatus(t *testing.T) {
	good := filepath.Join(t.TempDir(), "list.xml")
	write(t, good, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>https://example.org/</loc></url></urlset>`)
	bad := filepath.Join(t.TempDir(), "list.xml")
	write(t, bad, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url/></urlset>`)
	huge := filepath.Join(t.TempDir(), "list.xml")
	write(t, huge, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><!--`+strings.Repeat(" ", 1<<20)+`--></urlset>`)
	for _, tt := range []struct {
		args []string
		want int
		text string
	}{
		{[]string{good}, 0, "0 errors, 0 warnings"},
		{[]string{bad}, 1, "error  loc-missing"},
		{[]string{bad, "--harm", "error", "--level", "must"}, 1, "error  loc-missing"},
		{[]string{huge}, 1, "error  element-size  (no requirement, rsxml)"},
		{[]string{huge, "--level", "may"}, 0, "Not shown: 1 finding of less harm or force, or of rules that are ignored.\n0 errors"},
		{[]string{bad, "--ignore", "loc-missing"}, 0, "Not shown: 1 finding of less harm or force, or of rules that are ignored.\n"},
		{[]string{good, "--ignore", "bad"}, 2, `cannot ignore unknown rule "bad"`},
		{[]string{good, "--harm", "bad"}, 2, "error, warning or advice"},
		{[]string{good, "--level", "high"}, 2, "must, should, may or none"},
		{[]string{bad + ".gz"}, 2, "neither a file nor a URL"},
		{[]string{httptest.NewServer(http.NotFoundHandler()).URL}, 2, "does not lead to a ResourceSync document"},
		{[]string{}, 2, "give the URL"},
		{[]string{good, "--format", "pdf"}, 2, "text, json, junit, html or sarif"},
		{[]string{good, "--sample", "-1"}, 2, "--sample"},
		{[]string{good, "--rate", "-1"}, 2, "--rate"},
		{[]string{good, "--concurrency", "0"}, 2, "--concurrency"},
		{[]string{good, "--max-resource", "0"}, 2, "--max-resource"},
		{[]string{good, "--pause", "-1s"}, 2, "--pause"},
	} {
		status, stdout, stderr := runCheck(t, tt.args...)
		if status != tt.want || !strings.Contains(stdout+stderr, tt.text) {
			t.Errorf("%q: status %d, %s%s", tt.args, status, stdout, stderr)
		}
	}
}

// TestCheckSubscribes subscribes to the hub of serve, which may request the callback or not.
func TestCheckSubscribes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		flags  []string
		status int
		rules  map[string]int64
	}{
		"may":     {loopback, 0, nil},
		"may not": {nil, 1, map[string]int64{"hub-subscription": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			write(t, filepath.Join(folder, "f"), "text")
			s := startReady(t, folder, test.flags...)
			address := needs.Address(t)
			status, stdout, stderr := runCheck(t, s.site, "--format", "json", "--callback-listen", address, "--callback-url", "http://"+address+"/callback")
			var r check.Report
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != test.status || !maps.Equal(r.Counts, test.rules) {
				t.Errorf("status %d, %v, %s\n%s", status, err, stderr, stdout)
			}
		})
	}
	status, _, stderr := runCheck(t, "http://127.0.0.1:1/", "--callback-listen", ":0")
	if status != 2 || !strings.Contains(stderr, "give --callback-url as well") {
		t.Errorf("without a URL: status %d, %s", status, stderr)
	}
	status, _, stderr = runCheck(t, "http://127.0.0.1:1/", "--callback-listen", "127.0.0.1:0", "--callback-url", "example.org")
	if status != 2 || !strings.Contains(stderr, "not the URL of a callback") {
		t.Errorf("with a wrong URL: status %d, %s", status, stderr)
	}
}
