package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/harvesters"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// query runs "resourcesync status", and returns its exit status and output.
func query(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"status"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func TestQuery(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	write(t, filepath.Join(folder, "a.txt"), "a")
	s := startReady(t, folder, "--status", "127.0.0.1:0", "--rescan", "1s")
	at := strings.TrimSuffix(strings.TrimPrefix(s.stderr.await(`status for operators.* url=(\S+)`)[1], "http://"), "/")
	for _, address := range []string{at, "http://" + at, "http://" + at + "/"} {
		code, stdout, stderr := query(t, address)
		if code != 0 || stderr != "" || !regexp.MustCompile(`(?s)^Healthy\n\n  Resources +1\n.*  Last scan +.*, took .*  Subscriptions +0\n`).MatchString(stdout) {
			t.Errorf("%s: %d %s\n%s", address, code, stderr, stdout)
		}
	}
	code, stdout, stderr := query(t, "--json", at)
	var now status.Status
	if err := json.Unmarshal([]byte(stdout), &now); err != nil || code != 0 || stderr != "" || *now.Files != 1 {
		t.Errorf("%d %v %s\n%s", code, err, stderr, stdout)
	}

	must(t, os.Rename(folder, folder+" gone"))
	s.stderr.await("scan failed")
	code, stdout, stderr = query(t, at)
	if code != 1 || !strings.HasPrefix(stdout, "Problems\n  ") || !strings.Contains(stderr, "has problems") {
		t.Errorf("%d %s\n%s", code, stderr, stdout)
	}
	if code, stdout, _ = query(t, at, "--json"); code != 1 || !json.Valid([]byte(stdout)) {
		t.Errorf("%d %s", code, stdout)
	}
	if code, stdout, stderr = query(t, ":99999"); code != 2 || stdout != "" || !strings.Contains(stderr, "give the address of --status") {
		t.Errorf("no port: %d %s\n%s", code, stderr, stdout)
	}
	if code, stdout, stderr = query(t, s.site); code != 1 || stdout != "" || !strings.Contains(stderr, "not of --listen") {
		t.Errorf("the site: %d %s\n%s", code, stderr, stdout)
	}
	s.stop()
	if code, stdout, stderr = query(t, at); code != 1 || stdout != "" || !strings.Contains(stderr, "Its log says why it ended. Start serve, run or mirror with --status "+at) {
		t.Errorf("stopped: %d %s\n%s", code, stderr, stdout)
	}
}

func TestQueryOfAnotherVersion(t *testing.T) {
	for body, want := range map[string]string{
		`{"healthy":true,"files":3,"new":{"a":[1]}}`: "Healthy\n\n  Resources  3\n",
		`{"healthy":true,"files":"three"}`:           "another version",
		`{"healthy":`:                                "another version",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(body))
		}))
		if _, stdout, stderr := query(t, s.URL); !strings.Contains(stdout+stderr, want) {
			t.Errorf("%s: %s%s", body, stdout, stderr)
		}
		s.Close()
	}
}

// All fields of a status are printed, without control characters.
func TestPrintedStatus(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 11, 22, 12, minutes, 0, 0, time.Local) }
	s := status.Status{
		Health: status.Health{Problems: []string{"deletions are held: 5 resources are missing", "hub \x1b]0;x\a"}},
		Set: status.Set{Files: new(int64(1234567)), Changed: at(0),
			Scan: &status.Scan{Ended: at(29), Seconds: 1.25, Created: 1, Updated: 2, Unchanged: 1234564, Skipped: 3, Unreadable: 4},
			Site: &sitemap.Status{Sitemaps: 3, Unchanged: 2, Foreign: 1, Withheld: map[string]int{"noindex": 7, "login": 2}, Oldest: at(10)},
			Held: &status.Held{Files: 5000, Since: at(5), Until: at(50)},
		},
		Push: &topic.Status{Topics: []topic.TopicStatus{
			{Topic: "https://example.org/change/", Newest: 1200, Hubs: []topic.HubStatus{
				{Hub: "https://hub.example.org/", Behind: 3, Failures: 2, LastError: "500 \x1b[2J"},
				{Hub: "https://other.example.org/"},
			}},
			{Topic: "https://example.org/framework/", Error: "no turn"},
		}},
		Hub:        &hub.Status{Subscriptions: 12, Waiting: 3, Failing: 1, OldestWaiting: at(28)},
		WebSockets: new(4), CertificateExpires: at(29),
		Harvesters: []status.Harvester{
			{Harvester: harvesters.Harvester{Agent: "resync/2", Address: "192.0.2.1", Last: at(29), Requests: 1200, Bytes: 3_400_000, Document: "changelist"}, Behind: new(7200.0)},
			{Harvester: harvesters.Harvester{Address: "2001:db8::/64", Last: at(28), Requests: 1, Document: "resourcelist"}, Behind: new(0.0)},
			{Harvester: harvesters.Harvester{Agent: strings.Repeat("x", 160), Address: "192.0.2.2", Last: at(20), Document: "description"}},
		},
	}
	s.Source.Hits = 98765
	var b bytes.Buffer
	must(t, s.Print(terminal.New(&b), at(30)))
	want := "Problems\n" +
		"  deletions are held: 5 resources are missing\n" +
		"  hub \ufffd]0;x\ufffd\n" + `
  Resources               1,234,567
  Last change             30 minutes ago (22 Nov 2026, 12:00:00 UTC)
  Last scan               1 minute ago (22 Nov 2026, 12:29:00 UTC, took 1.25s)
  Subscriptions           12 (3 waiting, 1 failing)
  Certificate             has expired (22 Nov 2026, 12:29:00 UTC)
  WebSockets              4
  Found by the last scan  Created 1, Updated 2, Deleted 0, Unchanged 1,234,564
                          Skipped 3, Unreadable 4
  Sitemaps                Sitemaps 3, Unchanged sitemaps 2, URLs of other sites 1, Invalid URLs 0
                          Failed checks 0, Not listed: login 2, Not listed: noindex 7, All pages checked again since 20 minutes ago (22 Nov 2026, 12:10:00 UTC)
  Held deletions          5,000, since 22 Nov 2026, 12:05:00 UTC, until 22 Nov 2026, 12:50:00 UTC
  Documents               Rendered 0, From the cache 98,765, Refused 0, Failed 0
                          Packages sent 0, Packages aborted 0, Entries left out 0, Fields left out 0
                          Cache 0 B, Plans of packages 0 B
  Hub and subscribers     Waiting 3, Failing 1, Expired 0, Delivered 0
                          Not delivered 0, Given up 0, Requests accepted 0, Requests refused 0
                          Oldest waiting notification 2 minutes ago (22 Nov 2026, 12:28:00 UTC)

  TOPIC                           NEWEST  HUB                         BEHIND  FAILURES  LOST  ERROR
  https://example.org/change/      1,200  https://hub.example.org/         3         2     0  500 ` + "\ufffd" + `[2J
  https://example.org/change/      1,200  https://other.example.org/       0         0     0
  https://example.org/framework/       0                                                      no turn

  HARVESTER                                 ADDRESS        LAST REQUEST    REQUESTS   BYTES  DOCUMENT            BEHIND
  resync/2                                  192.0.2.1      1 minute ago       1,200  3.4 MB  Change List         2 hours
  -                                         2001:db8::/64  2 minutes ago          1     0 B  Resource List       has read all
  xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…  192.0.2.2      10 minutes ago         0     0 B  Source Description  unknown
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestPrintedStatusOfAFirstScan(t *testing.T) {
	var b bytes.Buffer
	s := status.Status{Health: status.Health{Healthy: true}, Set: status.Set{Held: &status.Held{Files: 1, Confirmed: true}}}
	must(t, s.Print(terminal.New(&b), time.Now()))
	for _, want := range []string{"Healthy\n", "Resources       unknown (the first scan has not ended)\n", "the next scan publishes them"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("without %q:\n%s", want, &b)
		}
	}
}

// All fields of the status of a copy are printed.
func TestPrintedCopy(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2026, 11, 22, 12, minutes, 0, 0, time.Local) }
	s := status.CopyStatus{
		Health: status.Health{Problems: []string{"2 resources could not be copied; the next run tries again"}},
		Copy: status.Copy{Dir: "/srv/copy", Status: destination.Status{
			Source: "https://example.org/", InSync: at(0), Until: at(2), Behind: 2, Failures: 1, Resources: 10, Bytes: 2000, Ended: at(29), Next: at(44),
			Channels: []destination.ChannelStatus{
				{Capability: "change-notification", By: "WebSocket", Address: "wss://example.org/change/websocket", Open: true, Received: 1200, Last: at(29)},
				{Capability: "framework-notification", By: "WebSub", Address: "https://example.org/framework/", Error: "the hub answers 500"},
			},
			Last: &destination.Report{
				Created: 1, Failed: 2, Held: 9,
				Failures: []destination.Failure{{URI: "https://example.org/a", Error: "500 Internal Server Error"}, {URI: "https://example.org/b", Error: "429 \x1b[2J", Next: at(59)}},
				Gone:     []destination.GoneSet{{URI: "https://example.org/set.xml", Resources: 9, Held: true}, {URI: "https://example.org/two.xml", Resources: 1, Reason: "its Capability List cannot be read"}},
				Pauses:   []destination.Pause{{Host: "https://example.org:443", Until: at(59)}},
			},
		}},
	}
	s.Copy.Measure(at(30))
	var b bytes.Buffer
	must(t, s.Print(terminal.New(&b), at(30)))
	want := `Problems
  2 resources could not be copied; the next run tries again

  Source                  https://example.org/
  Copy                    /srv/copy
  In sync                 30 minutes ago (22 Nov 2026, 12:00:00 UTC)
  Behind                  2 changes
  Resources               10
  Size                    2.0 kB
  Has read changes up to  28 minutes ago (22 Nov 2026, 12:02:00 UTC)
  Next run                in 14 minutes (22 Nov 2026, 12:44:00 UTC)
  Last run                Ended 1 minute ago (22 Nov 2026, 12:29:00 UTC), Created 1, Updated 0, Deleted 0
                          Not copied 2, Received 0 B
  Held deletions          9
  Pause                   https://example.org:443, until 22 Nov 2026, 12:59:00 UTC

  SET NO LONGER NAMED          RESOURCES  STATE
  https://example.org/set.xml          9  held
  https://example.org/two.xml          1  its Capability List cannot be read

  NOT COPIED             NOT BEFORE                 ERROR
  https://example.org/a                             500 Internal Server Error
  https://example.org/b  22 Nov 2026, 12:59:00 UTC  429 ` + "\ufffd" + `[2J

  CHANNEL                  BY         STATE   RECEIVED  LAST          ADDRESS                             ERROR
  Change Notifications     WebSocket  open       1,200  1 minute ago  wss://example.org/change/websocket
  Framework Notifications  WebSub     closed         0  -             https://example.org/framework/      the hub answers 500
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}
