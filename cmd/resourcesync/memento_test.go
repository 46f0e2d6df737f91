package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// With kept versions, each one has a URL that the Change List links, even if the file
// has changed or is gone. It keeps that URL after a restart.
func TestD9_ServeMemento(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	flags := []string{"--keep-versions", "90d", "--state", filepath.Join(t.TempDir(), "state.db"), "--base-url", publicURL}
	s := startReady(t, folder, flags...)
	s.write("index.html", "second")
	s.write(".secret", "hidden")
	s.stderr.awaitMore("changes found", 1)
	s.write("index.html", "third")
	s.stderr.awaitMore("changes found", 2)
	must(t, os.Remove(filepath.Join(folder, "index.html")))
	s.stderr.awaitMore("changes found", 3)
	before := s.mementos()
	if got, want := strings.Join(before.texts, ", "), "second, third"; got != want {
		t.Errorf("versions: %s, want %s", got, want)
	}
	s.stop()
	s = startReady(t, folder, flags...)
	if after := s.mementos(); strings.Join(after.urls, " ") != strings.Join(before.urls, " ") {
		t.Errorf("after a restart: %v, before: %v", after.urls, before.urls)
	}
}

// TestShortVersions: if versions are kept for a shorter time than Change Lists, new changes
// have no links to them, and closed lists do not change.
func TestShortVersions(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	flags := []string{"--window", "1s", "--page-size", "1", "--state", filepath.Join(t.TempDir(), "state.db"), "--base-url", publicURL}
	s := startReady(t, folder, append(flags, "--keep-versions", "90d")...)
	s.write("index.html", "second")
	s.stderr.awaitMore("changes found", 1)
	time.Sleep(1100 * time.Millisecond)
	s.write("index.html", "third")
	s.stderr.awaitMore("changes found", 2)
	lists := regexp.MustCompile(`<loc>([^<]*/changelist/[^<]*)</loc>`)
	closed := ""
	for deadline := time.Now().Add(needs.Patience); closed == "" && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		_, index := s.get(s.capabilities()["changelist"])
		if found := lists.FindStringSubmatch(index); found != nil {
			closed = found[1]
		}
	}
	_, before := s.get(closed)
	if strings.Contains(s.stderr.String(), "no links to versions") || strings.Count(before, `rel="memento"`) != 1 {
		t.Fatalf("%s\n%s", before, s.stderr.String())
	}
	s.stop()

	s = startReady(t, folder, append(flags, "--keep-versions", "1d")...)
	if _, after := s.get(closed); after != before {
		t.Errorf("a closed list has changed from\n%s\nto\n%s", before, after)
	}
	s.write("index.html", "fourth")
	s.stderr.awaitMore("changes found", 1)
	if !strings.Contains(s.stderr.String(), "give --keep-versions 90d or more") {
		t.Errorf("not reported: %s", s.stderr.String())
	}
	_, index := s.get(s.capabilities()["changelist"])
	found := lists.FindAllStringSubmatch(index, -1)
	if _, body := s.get(found[len(found)-1][1]); !strings.Contains(body, "<url>") || strings.Contains(body, `rel="memento"`) {
		t.Errorf("a new list: %s", body)
	}
	if versions := s.capabilities()["changedump"]; versions == "" {
		t.Error("there is no Change Dump")
	}
}

// mementos are versions that a Change List links, in its order.
type mementos struct{ urls, texts []string }

// mementos reads all versions that the Change List links.
func (s *served) mementos() (found mementos) {
	s.t.Helper()
	_, body := s.get(s.capabilities()["changelist"])
	var d struct {
		Entries []struct {
			Links []struct {
				Rel  string `xml:"rel,attr"`
				Href string `xml:"href,attr"`
			} `xml:"http://www.openarchives.org/rs/terms/ ln"`
		} `xml:"url"`
	}
	must(s.t, xml.Unmarshal([]byte(body), &d))
	for _, e := range d.Entries {
		for _, l := range e.Links {
			if l.Rel != "memento" {
				continue
			}
			res, text := s.get(l.Href)
			if res.StatusCode != 200 || res.Header.Get("Memento-Datetime") == "" || strings.Contains(res.Header.Get("Link"), "resourcesync\"") {
				s.t.Errorf("%s: %s, %v", l.Href, res.Status, res.Header)
			}
			found.urls, found.texts = append(found.urls, l.Href), append(found.texts, text)
		}
	}
	return found
}
