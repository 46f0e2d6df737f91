package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/providertest"
)

//docs:begin test

// The suite reads the papers, writes others, and restores the original ones.
func TestPapers(t *testing.T) {
	shelf := NewShelf()
	for _, id := range []string{"b", "a", "Z", "déjà vu?"} {
		shelf.Put(id, "Hello from "+id)
		shelf.Put(id, "Hello again from "+id)
	}
	papers := Papers{shelf, "https://example.org"}
	papers.Keep()
	err := providertest.Test(t.Context(), papers, &providertest.Options{
		Put: func(ctx context.Context, resources ...resourcesync.Resource) error {
			for _, r := range resources {
				shelf.Put(r.Key, fmt.Sprint(r.Hashes))
			}
			return nil
		},
		Delete: func(ctx context.Context, keys ...string) error {
			for _, key := range keys {
				shelf.Delete(key)
			}
			return nil
		},
		// The shelf keeps the keys only, not the other fields that the suite writes.
		Equal: func(got, want resourcesync.Resource) bool { return got.Key == want.Key },
	})
	if err != nil {
		t.Error(err)
	}
}

//docs:end

// TestServed: papers that the application writes are listed, with a Link header, and in
// packages.
func TestServed(t *testing.T) {
	shelf := NewShelf()
	server := httptest.NewUnstartedServer(nil)
	site := "http://" + server.Listener.Addr().String()
	src, err := newSource(site, shelf)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = src.Wrap(newApp(Papers{shelf, site}))
	server.Start()
	defer server.Close()
	do := func(method, path, body string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequest(method, site+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 {
			t.Errorf("%s %s: %s %v", method, path, res.Status, err)
		}
		return res, string(answer)
	}
	do("PUT", "/papers/d%C3%A9j%C3%A0%20vu%3F", "Hello.")
	do("PUT", "/papers/draft", "Soon gone.")
	do("DELETE", "/papers/draft", "")
	do("POST", "/archive/", "")
	do("PUT", "/papers/d%C3%A9j%C3%A0%20vu%3F", "Hello.\nAgain.")
	if res, _ := do("GET", "/papers/d%C3%A9j%C3%A0%20vu%3F", ""); !strings.Contains(res.Header.Get("Link"), "/resourcesync/capabilitylist.xml") {
		t.Errorf("Link: %q", res.Header["Link"])
	}
	for path, want := range map[string]string{
		"/resourcesync/resourcelist.xml": "<loc>" + site + "/papers/d%C3%A9j%C3%A0%20vu%3F</loc>",
		"/resourcesync/changelist.xml":   `change="deleted"`,
		"/resourcesync/resourcedump.xml": ".zip</loc>",
		"/resourcesync/changedump.xml":   `capability="changedump"`,

		"/resourcesync/resourcelistarchive.xml": "<loc>" + site + "/archive/0</loc>",

		"/archive/0": "<loc>" + site + "/papers/d%C3%A9j%C3%A0%20vu%3F</loc>",
	} {
		if _, document := do("GET", path, ""); !strings.Contains(document, want) {
			t.Errorf("%s has no %s:\n%s", path, want, document)
		}
	}

	// The entry of the update links to its patch.
	_, list := do("GET", "/resourcesync/changelist.xml", "")
	_, patch, _ := strings.Cut(list, `href="`+site+"/patches/")
	patch, _, _ = strings.Cut(patch, `"`)
	const want = "-Hello.\n\\ No newline at end of file\n+Hello.\n+Again.\n"
	if _, got := do("GET", "/patches/"+patch, ""); !strings.Contains(got, want) {
		t.Errorf("the patch is %q", got)
	}
}
