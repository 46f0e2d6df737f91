// Package checktest checks a ResourceSync Source in a Go test.
//
//	func TestSource(t *testing.T) {
//		checktest.Source(t, site, "https://example.org/", nil)
//	}
//
// Each error and each broken must fails the test, with the document, the line, the section of the
// specification and the remedy. Other findings are logged.
package checktest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/check"
)

// Source checks the Source that a handler serves at the URL base, such as
// https://example.org/. base can be any URL that [check.Check] accepts. The requests to its host
// are answered by the handler, on a local port; those to other hosts fail. o may be nil; its
// Transport is ignored, and its Pause is a millisecond if it is zero.
func Source(t testing.TB, h http.Handler, base string, o *check.Options) *check.Report {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		t.Fatalf("checktest: %q is not the URL of a Source, such as https://example.org/", base)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	options := copied(o)
	options.Transport = &transport{host: u.Host, to: server.Listener.Addr().String(), next: server.Client().Transport}
	return run(t, base, options)
}

// URL checks the Source at a URL. The host may have any address. o may be nil; its Pause is a
// millisecond if it is zero.
func URL(t testing.TB, target string, o *check.Options) *check.Report {
	t.Helper()
	return run(t, target, copied(o))
}

func copied(o *check.Options) *check.Options {
	if o == nil {
		o = &check.Options{}
	}
	c := *o
	c.Pause = cmp.Or(c.Pause, time.Millisecond)
	return &c
}

func run(t testing.TB, target string, o *check.Options) *check.Report {
	t.Helper()
	report, err := check.Check(context.WithoutCancel(t.Context()), target, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		at := f.Document
		if f.Line > 0 {
			at += fmt.Sprintf(":%d:%d", f.Line, f.Column)
		}
		text := fmt.Sprintf("%s: %s: %s [%s, %s: %s]. %s", at, f.Harm, f.Message, f.Rule, f.Section, f.Force, f.Remedy)
		if f.Fails() {
			t.Error(text)
		} else {
			t.Log(text)
		}
	}
	for rule, n := range report.Counts {
		if shown := count(report, rule); n > shown {
			t.Logf("there are %d further findings of the rule %s", n-shown, rule)
		}
	}
	for _, text := range report.Unchecked {
		t.Log("not checked: " + text)
	}
	return report
}

// count returns the number of findings of a rule in the report.
func count(r *check.Report, rule string) (n int64) {
	for _, f := range r.Findings {
		if f.Rule == rule {
			n++
		}
	}
	return n
}

// A transport sends the requests to a host to a local server.
type transport struct {
	host, to string
	next     http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (tr *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != tr.host {
		return nil, fmt.Errorf("request for a host other than %s", tr.host)
	}
	local := r.Clone(r.Context())
	local.URL.Scheme, local.URL.Host = "http", tr.to
	if local.Host == "" {
		local.Host = tr.host
	}
	res, err := tr.next.RoundTrip(local)
	if err == nil {
		res.Request = r
	}
	return res, err
}

// CloseIdleConnections closes idle connections.
func (tr *transport) CloseIdleConnections() {
	(&http.Client{Transport: tr.next}).CloseIdleConnections()
}
