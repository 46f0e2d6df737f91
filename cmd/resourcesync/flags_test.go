package main

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

func TestFlags(t *testing.T) {
	c, err := parseServe([]string{
		"--listen=[::1]:80", "-base-url", "HTTPS://files.example.org/a/../é", "folder", "--prefix", "x/y.z",
		"--hash", "md5,sha-256", "--page-size", "50000", "--rescan", "1h30m", "--max-delete", "12.5%", "--max-delete-hold", "0", "--state", "x.db", "--window", "1h", "--retain", "7d", "--archive", "730d",
		"--dumps", "--package-size", "4GiB", "--package-every", "15m", "--keep-versions", "30d", "--versions", "v", "--sitemap", "--robots-resource-list", "--described-by", "urn:about", "--set-described-by", "urn:set", "--dot-files", "--exclude", "*.bak", "--exclude", "litter", "--pages=false", "--log-format", "json", "--access-log", "combined",
		"--hub", "own", "--hub-min-lease", "10s", "--hub-retry", "2s", "--hub-give-up", "1d", "--allow-callbacks", "10.0.0.0/8", "--websocket", "--client-header", "x-forwarded-for",
	})
	must(t, err)
	want := &siteConfig{
		listen: "[::1]:80", baseURL: "https://files.example.org/%C3%A9/", prefix: "/x/y.z/",
		state: "x.db", window: time.Hour, retain: 7 * settings.Day, archive: 730 * settings.Day,
		pageSize: 50_000, pkgSize: 4 << 30, pkgEvery: 15 * time.Minute, client: "X-Forwarded-For", sitemap: true, robots: true, listEvery: time.Hour, aboutURI: "urn:about", harvests: true, logFormat: "json", accessLog: "combined",
		push: pushConfig{
			own: true, minLease: 10 * time.Second, retry: 2 * time.Second, giveUp: settings.Day,
			callbacks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, webSocket: true,
		},
		sets: []setConfig{&folderConfig{
			setSettings: setSettings{kind: "folder", rescan: 90 * time.Minute, maxDelete: 0.125, dumps: true, aboutSet: "urn:set"},
			folder:      "folder", hash: "md5,sha-256", hashes: []string{"md5", "sha-256"}, keep: 30 * settings.Day, versions: "v", dotFiles: true, exclude: exclusions{"*.bak", "litter"}, browse: true,
		}},
	}
	c.catalog, c.catalogs = nil, nil
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%+v %+v\nwant\n%+v %+v", c, c.sets[0], want, want.sets[0])
	}
}

func TestFolderThatLooksLikeAFlag(t *testing.T) {
	if c, err := parseServe([]string{"--sitemap", "--", "-folder"}); err != nil || c.sets[0].(*folderConfig).folder != "-folder" {
		t.Errorf("%v, %v", c, err)
	}
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

// TestOneMeaning: a flag has the same type in all commands, because one variable sets all of
// them. Flags with values of the same form begin with the same words in every help.
func TestOneMeaning(t *testing.T) {
	types, meanings := make(map[string]string), make(map[string]string)
	for _, c := range commands() {
		if c.catalog == nil {
			continue
		}
		for s := range c.catalog().All() {
			got := fmt.Sprintf("%T", s.Value)
			if before, ok := types[s.Name]; ok && before != got {
				t.Errorf("%s --%s is a %s, elsewhere a %s", c.name, s.Name, got, before)
			}
			types[s.Name] = got
			switch s.Name {
			case "rate", "uri", "concurrency", "allow-addresses", "ignore-robots", "log-format", "db", "key":
				if before, ok := meanings[s.Name]; ok && before != s.Summary() {
					t.Errorf("%s --%s: %s; elsewhere: %s", c.name, s.Name, s.Summary(), before)
				}
				meanings[s.Name] = s.Summary()
			}
		}
	}
}
