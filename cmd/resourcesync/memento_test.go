package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// With kept versions, each one has a URL that the Change List links, whatever has
// become of the file, and it keeps that URL after a restart.
func TestD9_ServeMemento(t *testing.T) {
	t.Parallel()
	folder := sampleFolder(t)
	flags := []string{"--keep-versions", "1d", "--state", filepath.Join(t.TempDir(), "state.db"), "--base-url", publicURL}
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
