package site

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
	c := New(new(origin.Folder))
	given, _, err := c.Catalog.Parse([]string{
		"--listen=[::1]:80", "-base-url", "HTTPS://files.example.org/a/../é", "folder", "--prefix", "x/y.z",
		"--page-size", "50000", "--state", "x.db", "--window", "1h", "--retain", "7d", "--archive", "730d",
		"--package-size", "4GiB", "--package-every", "15m", "--sitemap", "--robots-resource-list", "--described-by", "urn:about", "--pages=false", "--log-format", "json", "--access-log", "combined",
		"--hub", "own", "--hub-min-lease", "10s", "--hub-retry", "2s", "--hub-give-up", "1d", "--allow-callbacks", "10.0.0.0/8", "--websocket", "--client-header", "x-forwarded-for",
	})
	if err == nil {
		err = cmp.Or(c.Catalog.Apply(given), c.Check())
	}
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Listen: "[::1]:80", BaseURL: "https://files.example.org/%C3%A9/", Prefix: "/x/y.z/",
		State: "x.db", Window: time.Hour, Retain: 7 * settings.Day, Archive: 730 * settings.Day,
		PageSize: 50_000, pkgSize: 4 << 30, pkgEvery: 15 * time.Minute, ClientHeader: "X-Forwarded-For", Sitemap: true, Robots: true, ListEvery: time.Hour, DescribedBy: "urn:about", Harvesters: true, LogFormat: "json", AccessLog: "combined",
		Push: Push{
			Own: true, minLease: 10 * time.Second, retry: 2 * time.Second, giveUp: settings.Day,
			Callbacks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, WebSocket: true,
		},
	}
	c.Sets, c.Catalog, c.Catalogs = nil, nil, nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%+v\nwant\n%+v", c, want)
	}
}
