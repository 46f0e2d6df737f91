package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// getAs requests a URL with a User-Agent.
func (s *served) getAs(url, agent, accept string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	must(s.t, err)
	req.Header.Set("User-Agent", agent)
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := http.DefaultClient.Do(req)
	must(s.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(s.t, err)
	return res, string(body)
}

const browserAccept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

// harvester returns the row of an agent.
func (s *served) harvester(agent string) status.Harvester {
	_, now := s.toldOperators()
	for _, h := range now.Harvesters {
		if strings.HasPrefix(h.Agent, agent) {
			return h
		}
	}
	return status.Harvester{}
}

// TestHarvesterInSync: a harvester that has read a list of several pages and the changes since then
// is in sync, and so is a WebSub follower that has read nothing since.
func TestHarvesterInSync(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		write(t, filepath.Join(folder, name), name)
	}
	s := startReady(t, folder, "--status", "127.0.0.1:0", "--page-size", "2", "--hub", "own", "--allow-callbacks", "127.0.0.0/8")
	if status, _, stderr := runMirror(t, s.site, filepath.Join(t.TempDir(), "copy"), "--use-dumps", "never"); status != 0 {
		t.Fatal(stderr)
	}
	if h := s.harvester("resourcesync"); !h.InSync || h.Behind == nil || *h.Behind != 0 || len(h.Sets) != 1 {
		t.Errorf("%+v", h)
	}
	s.write("f", "f")
	s.stderr.await("changes found")
	s.until("the harvester lacks a change", func() bool {
		h := s.harvester("resourcesync")
		return !h.InSync && *h.Behind > 0
	})
	address := needs.Address(t)
	f := startFollower(t, s.site, filepath.Join(t.TempDir(), "copy"), "--every", "1h", "--callback-listen", address, "--callback-url", "http://"+address+"/")
	f.stdout.await("following a channel.*\n.*following a channel")
	s.until("the follower is in sync", func() bool { return s.harvester("resourcesync").InSync })
	reads := s.harvester("resourcesync").Requests
	s.until("a notification was accepted", func() bool {
		_, now := s.toldOperators()
		return now.Hub.Subscriptions == 2
	})
	s.write("g", "g")
	s.until("the follower has the change", func() bool {
		_, now := s.toldOperators()
		h := s.harvester("resourcesync")
		return *now.Files == 7 && h.InSync && h.Sets[0].Proven.Equal(now.Changed)
	})
	t.Logf("%d requests before the change, %d after it", reads, s.harvester("resourcesync").Requests)
	if _, page := s.getAs(s.stderr.await(`status for operators.* url=(\S+)`)[1], "", browserAccept); !strings.Contains(page, "in sync") {
		t.Error(page)
	}
	f.interrupt(t)
}

// TestSubscriptions: each subscription at the hub has a row, with the harvester that has requested it
// and why notifications fail.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := startReady(t, t.TempDir(), "--status", "127.0.0.1:0", "--hub", "own", "--allow-callbacks", "127.0.0.0/8")
	var broken atomic.Bool
	callback := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			http.Error(w, "broken", http.StatusInternalServerError)
			return
		}
		io.WriteString(w, r.URL.Query().Get("hub.challenge"))
	}))
	t.Cleanup(callback.Close)
	form := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {s.site + "resourcesync/change/"}, "hub.callback": {callback.URL + "/hidden?secret"}}
	req, err := http.NewRequest("POST", s.site+"websub/", strings.NewReader(form.Encode()))
	must(t, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("User-Agent", "subscriber/1")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != 202 {
		t.Fatal(res.Status)
	}
	var now status.Status
	s.until("the subscription is verified", func() bool {
		_, now = s.toldOperators()
		return len(now.Subscriptions) == 1
	})
	host := strings.TrimPrefix(callback.URL, "http://")
	if sub := now.Subscriptions[0]; sub.Host != host || sub.Agent != "subscriber/1" || sub.Address != "127.0.0.1" || sub.Capability != "change-notification" || sub.Expires.Before(time.Now()) || sub.Pending != 0 || sub.Failures != 0 {
		t.Errorf("%+v", sub)
	}
	s.write("a", "a")
	s.until("a notification was accepted", func() bool {
		_, now = s.toldOperators()
		return now.Subscriptions[0].Delivered == 1
	})
	accepted := now.Subscriptions[0].LastSuccess
	if time.Since(accepted) > time.Minute {
		t.Errorf("the last success was at %v", accepted)
	}
	if h := s.harvester("subscriber"); !h.InSync {
		t.Errorf("%+v", h)
	}
	broken.Store(true)
	s.write("b", "b")
	s.until("a notification has failed", func() bool {
		_, now = s.toldOperators()
		return now.Subscriptions[0].Failures == 1
	})
	if sub := now.Subscriptions[0]; sub.Pending != 1 || !sub.LastSuccess.Equal(accepted) || !strings.Contains(sub.LastError, "500") || sub.Next.Before(time.Now()) || sub.FailingSince.IsZero() {
		t.Errorf("%+v", sub)
	}
	operators := s.stderr.await(`status for operators.* url=(\S+)`)[1]
	_, page := s.getAs(operators, "", browserAccept)
	for _, want := range []string{"Subscriptions</h2>", "<bdi>" + host + "</bdi>", "<bdi>subscriber/1</bdi> at 127.0.0.1", "1 attempt, the first", "Last success</th>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if _, stdout, _ := query(t, operators); !regexp.MustCompile("SUBSCRIBER .*\n  " + host + " +Change Notifications .* from now .*500").MatchString(stdout) {
		t.Error(stdout)
	}
	if told, _ := json.Marshal(now); strings.Contains(string(told)+page, "secret") || strings.Contains(string(told)+page, "/hidden") {
		t.Error("the status tells the callback")
	}
}

// TestHarvesters: only operators see which clients have read which documents.
func TestHarvesters(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "a.txt"), "a")
	s := startReady(t, folder, "--status", "127.0.0.1:0")
	operators := s.stderr.await(`status for operators.* url=(\S+)`)[1]
	s.getAs(s.site+"resourcesync/resourcelist.xml", "<b>lister</b>", "")
	s.getAs(s.site+"resourcesync/changelist.xml", "early", "")
	s.write("b.txt", "b")
	s.stderr.await("changes found")
	s.getAs(s.site+"resourcesync/changelist.xml", "late", "")
	s.getAs(s.site+"a.txt", "reader of a file", "")
	_, now := s.toldOperators()
	found := map[string]status.Harvester{}
	for _, h := range now.Harvesters {
		found[h.Agent] = h
	}
	// One document is not proof of the whole set.
	if h := found["late"]; h.InSync || h.Behind == nil || *h.Behind != 0 || !h.Until.Equal(now.Changed) || h.Document != "changelist" || h.Address != "127.0.0.1" || h.Requests != 1 {
		t.Errorf("%+v, newest change %v", h, now.Changed)
	}
	if h := found["<b>lister</b>"]; h.Behind == nil || *h.Behind <= 0 || h.Document != "resourcelist" {
		t.Errorf("%+v", h)
	}
	if _, ok := found["reader of a file"]; ok || len(found) < 3 {
		t.Errorf("%+v", found)
	}
	res, page := s.getAs(operators, "Mozilla/5.0", browserAccept)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/html; charset=utf-8" || res.Header.Get("Vary") != "Accept" || res.Header.Get("Cache-Control") != "no-store" || !strings.HasPrefix(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	for _, want := range []string{"There are no problems.", "&lt;b&gt;lister&lt;/b&gt;", "has read all changes", "behind by less than a minute", "<bdi>late</bdi><br><small>127.0.0.1</small>", `href="/status.json"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(page, "<b>lister") {
		t.Error("the name of an agent is not escaped")
	}
	if res, body := s.getAs(operators+"status.json", "Mozilla/5.0", browserAccept); res.Header.Get("Content-Type") != "application/json" || !strings.Contains(body, `"healthy": true`) {
		t.Errorf("%v %s", res.Header, body)
	}
	if _, body := s.getAs(operators+"metrics", "prometheus", ""); !strings.Contains(body, "\nresourcesync_harvesters ") || !strings.Contains(body, `resourcesync_disk_free_bytes{of="state",set=""} `) || strings.Contains(body, "lister") {
		t.Errorf("metrics: %s", body)
	}
	for _, path := range []string{"", "status.json", "metrics", "resourcesync/status.json"} {
		if _, body := s.get(path); strings.Contains(body, "lister") || strings.Contains(body, "127.0.0.1</small>") {
			t.Errorf("%q tells the public %s", path, body)
		}
	}
}

func TestHarvestersDisabled(t *testing.T) {
	t.Parallel()
	s := startReady(t, t.TempDir(), "--status", "127.0.0.1:0", "--harvesters=false")
	s.getAs(s.site+"resourcesync/resourcelist.xml", "lister", "")
	if _, now := s.toldOperators(); now.Harvesters != nil {
		t.Errorf("%+v", now.Harvesters)
	}
	operators := s.stderr.await(`status for operators.* url=(\S+)`)[1]
	if _, page := s.getAs(operators, "", browserAccept); strings.Contains(page, "lister") || !strings.Contains(page, "--harvesters=false") {
		t.Error(page)
	}
	if _, body := s.getAs(operators+"metrics", "", ""); strings.Contains(body, "resourcesync_harvesters") {
		t.Error("they are counted")
	}
}

func TestStatusPageProblems(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"a", "b", "c", "d"} {
		write(t, filepath.Join(folder, name), name)
	}
	s := startReady(t, folder, "--status", "127.0.0.1:0", "--max-delete", "0%", "--rescan", "1s")
	for _, name := range []string{"a", "b", "c"} {
		must(t, os.Remove(filepath.Join(folder, name)))
	}
	s.stderr.await("deletions are held")
	operators := s.stderr.await(`status for operators.* url=(\S+)`)[1]
	res, page := s.getAs(operators, "", browserAccept)
	problem, held, harvesters := strings.Index(page, "1 problem"), strings.Index(page, "resourcesync confirm-deletions serve "+folder+" --state "), strings.Index(page, "Harvesters")
	if res.StatusCode != 503 || problem < 0 || held < problem || harvesters < held || strings.Contains(page, "There are no problems") {
		t.Errorf("%s: problem at %d, deletions at %d, harvesters at %d", res.Status, problem, held, harvesters)
	}
}
