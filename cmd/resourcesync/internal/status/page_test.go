package status

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/oaipmh"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/static"
)

func TestLag(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Second: "less than a minute", time.Minute: "1 minute", 119 * time.Minute: "1 hour", 47 * time.Hour: "1 day", 48 * time.Hour: "2 days", 24 * 400 * time.Hour: "400 days"} {
		if got := lag(d); got != want {
			t.Errorf("%v: %s, expected %s", d, got, want)
		}
	}
}

// TestRepositoryPage: the page has the state of a repository, in a single set and in one of several.
func TestRepositoryPage(t *testing.T) {
	set := Set{Name: "theses", Kind: "oai", Repository: &oaipmh.Status{Name: "Theses of Example", Records: 45, Unlisted: 1, Compared: time.Now()}}
	for _, s := range []*Status{{Set: set}, {Sets: []Set{set}}} {
		page, err := s.Page("example.org", "/", false, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Theses of Example", "Records in the last harvest", "Records without a usable URI", "Complete listing"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("the page lacks %q", want)
			}
		}
	}
}

// TestSince: the terminal says since when scans have failed, and not that a copy is up to date if
// no run has succeeded.
func TestSince(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	failing := &Status{Set: Set{Scan: &Scan{Failed: true, Ended: at.Add(time.Hour), Since: at}}}
	copied := &CopyStatus{Copy: Copy{Status: destination.Status{Last: &destination.Report{}, Error: "no answer", Failures: 1}}}
	copied.Copy.Measure(at)
	for want, s := range map[string]interface {
		Print(*terminal.Screen, time.Time) error
	}{
		"Scans have failed since  2 hours ago (22 Nov 2026, 12:00:00 UTC)": failing,
		"unknown (because no run of this process has succeeded)":           copied,
	} {
		var out bytes.Buffer
		if err := s.Print(terminal.New(&out), at.Add(2*time.Hour)); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v, want %q, got\n%s", err, want, &out)
		}
	}
}

// TestStandby: page and terminal say how a standby does, and minutes without it are a problem.
func TestStandby(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		status  sqlstore.StandbyStatus
		state   string
		problem string
	}{
		{sqlstore.StandbyStatus{Lag: 1500 * time.Millisecond, Reads: 7123}, "lags by 1.5", ""},
		{sqlstore.StandbyStatus{Lag: 6 * time.Minute}, "lags by 360.0", "lags by 6 minutes"},
		{sqlstore.StandbyStatus{Err: errors.New("no route"), FailingSince: now.Add(-4 * time.Minute)}, "cannot be used: no route", ""},
		{sqlstore.StandbyStatus{Err: errors.New("no route"), FailingSince: now.Add(-6 * time.Minute)}, "cannot be used: no route", "no route"},
	} {
		s := &Status{Standby: StandbyOf(&test.status)}
		page, err := s.Page("example.org", "/", false, false)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := s.Print(terminal.New(&out), now); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(page), test.state) || !strings.Contains(out.String(), test.state) {
			t.Errorf("%q is not on the page, or not in\n%s", test.state, &out)
		}
		problem := s.Standby.Problem(now)
		if (problem != nil) != (test.problem != "") || problem != nil && !strings.Contains(problem.Error(), test.problem) {
			t.Errorf("%+v: %v", test.status, problem)
		}
	}
}

// TestBuckets: page and terminal say what happens to the documents in a bucket.
func TestBuckets(t *testing.T) {
	now := time.Now()
	kept := Place{Bucket: "s3://site", PublicationStatus: static.PublicationStatus{Publishing: true, Documents: 12, Last: now}}
	failing := Place{Bucket: "s3://other", PublicationStatus: static.PublicationStatus{LastError: "S3 answered 403 Forbidden"}}
	s := &Status{Published: []Place{kept, failing, {Bucket: "s3://third"}}}
	page, err := s.Page("example.org", "/", false, false)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Print(terminal.New(&out), now); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"s3://site", "kept up to date", "s3://other", "failing", "not kept by this process now"} {
		if !strings.Contains(string(page), want) || !strings.Contains(out.String(), want) {
			t.Errorf("%q is not on the page, or not in\n%s", want, &out)
		}
	}
}
