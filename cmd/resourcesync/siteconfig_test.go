package main

import (
	"cmp"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// FuzzParseConfig: any text is parsed or returns an error.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{"", "a: b", "sets:\n- {kind: folder, folder: .}", "a: &x [1]\nb: *x", "<<: *x", "? [a]\n: b", "sets: [[a]]", "a: !!binary x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := settings.ParseFile("site.yaml", text)
		if err != nil {
			return
		}
		for _, s := range c.Sections {
			_, _, _ = loadSet(s, []settings.Layer{c.Top})
		}
	})
}

func TestBaseURLsAreCleaned(t *testing.T) {
	for given, want := range map[string]string{
		"":                         "",
		"http://example.org":       "http://example.org/",
		"http://example.org:8080/": "http://example.org:8080/",
		"http://example.org/a":     "http://example.org/a/",
		"http://example.org//a//":  "http://example.org/a/",
		"http://example.org/a%20b": "http://example.org/a%20b/",
	} {
		if got, err := cleanBaseURL(given); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", given, got, err, want)
		}
	}
}

// TestSettings: the settings of a site arrive in its configuration.
func TestSettings(t *testing.T) {
	c := newSite(new(origin.Folder))
	given, _, err := c.catalog.Parse([]string{
		"--listen=[::1]:80", "-base-url", "HTTPS://files.example.org/a/../é", "folder", "--prefix", "x/y.z",
		"--page-size", "50000", "--state", "x.db", "--window", "1h", "--retain", "7d", "--archive", "730d",
		"--package-size", "4GiB", "--package-every", "15m", "--sitemap", "--robots-resource-list", "--described-by", "urn:about", "--pages=false", "--log-format", "json", "--access-log", "combined",
		"--hub", "own", "--hub-min-lease", "10s", "--hub-retry", "2s", "--hub-give-up", "1d", "--allow-callbacks", "10.0.0.0/8", "--websocket", "--client-header", "x-forwarded-for",
	})
	if err == nil {
		err = cmp.Or(c.catalog.Apply(given), c.check())
	}
	if err != nil {
		t.Fatal(err)
	}
	want := &siteConfig{
		listen: "[::1]:80", baseURL: "https://files.example.org/%C3%A9/", prefix: "/x/y.z/",
		state: "x.db", window: time.Hour, retain: 7 * settings.Day, archive: 730 * settings.Day,
		pageSize: 50_000, pkgSize: 4 << 30, pkgEvery: 15 * time.Minute, client: "X-Forwarded-For", sitemap: true, robots: true, listEvery: time.Hour, aboutURI: "urn:about", harvests: true, logFormat: "json", accessLog: "combined",
		push: pushConfig{
			own: true, minLease: 10 * time.Second, retry: 2 * time.Second, giveUp: settings.Day,
			callbacks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, webSocket: true,
		},
	}
	c.sets, c.catalog, c.catalogs = nil, nil, nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%+v\nwant\n%+v", c, want)
	}
}
