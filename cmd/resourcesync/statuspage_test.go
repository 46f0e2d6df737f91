package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/status"
)

// getAs requests a URL as a program of this name.
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
	if h := found["late"]; h.Behind == nil || *h.Behind != 0 || !h.Until.Equal(now.Changed) || h.Document != "changelist" || h.Address != "127.0.0.1" || h.Requests != 1 {
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
	for _, want := range []string{"There are no problems.", "&lt;b&gt;lister&lt;/b&gt;", "up to date", "behind by less than a minute", "<bdi>late</bdi><br><small>127.0.0.1</small>", `href="/status.json"`} {
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
	if _, body := s.getAs(operators+"metrics", "prometheus", ""); !strings.Contains(body, "\nresourcesync_harvesters ") || strings.Contains(body, "lister") {
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
	problem, held, harvesters := strings.Index(page, "1 problem"), strings.Index(page, "resourcesync confirm-deletions DIR"), strings.Index(page, "Harvesters")
	if res.StatusCode != 503 || problem < 0 || held < problem || harvesters < held || strings.Contains(page, "There are no problems") {
		t.Errorf("%s: problem at %d, deletions at %d, harvesters at %d", res.Status, problem, held, harvesters)
	}
}
