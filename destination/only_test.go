package destination_test

import (
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// TestOnly restricts a new copy to a list and the changes of its set, also in later runs without
// the option. An existing copy keeps its meaning.
func TestOnly(t *testing.T) {
	pages := lists(map[string]string{
		"/resourcelist.xml": resourcesOf(1, listed("a")), "/oai.xml": "<OAI-PMH/>",
		"/changelist.xml": changesOf(changed(2, "created", "b")), "/a": "a", "/b": "b",
	}, "oai", "resourcelist", "changelist")
	pages["/.well-known/resourcesync"] = strings.Replace(pages["/.well-known/resourcesync"], `"oai"`, `"resourcelist"`, 1)
	s, url := newScript(t, pages)
	dir := t.TempDir()
	m := openMirror(t, url, dir, &destination.Options{Only: url + "/resourcelist.xml"})
	m.sync(t)
	wantCopy(t, m, "a", "b")
	m.close()

	for want, only := range map[string]string{"this is a copy of " + url + "/resourcelist.xml": url + "/oai.xml", "": ""} {
		folder, err := destination.OpenFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		d, err := destination.New(url, folder, &destination.Options{Only: only})
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		} else if err != nil {
			t.Error(err)
		} else {
			if _, err := d.Audit(t.Context()); err != nil {
				t.Error(err)
			}
			d.Close()
		}
		folder.Close()
	}

	unknown := openMirror(t, url, t.TempDir(), &destination.Options{Only: url + "/nothing.xml"})
	if _, err := unknown.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), url+"/oai.xml, "+url+"/resourcelist.xml") {
		t.Errorf("got %v", err)
	}

	s.set(map[string]string{"/oai.xml": resourcesOf(1)})
	whole := t.TempDir()
	m = openMirror(t, url, whole, nil)
	m.sync(t)
	m.close()
	folder, err := destination.OpenFolder(whole)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	if _, err := destination.New(url, folder, &destination.Options{Only: url + "/oai.xml"}); err == nil || !strings.Contains(err.Error(), "all lists") {
		t.Errorf("got %v", err)
	}
}
