package main

import (
	"fmt"
	"testing"
)

// FuzzParseConfig: any text is parsed or returns an error.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{"", "a: b", "sets:\n- {kind: folder, folder: .}", "a: &x [1]\nb: *x", "<<: *x", "? [a]\n: b", "sets: [[a]]", "a: !!binary x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { _, _ = loaded(t, text) })
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
		if c, err := parseServe([]string{".", "--base-url", given}); err != nil || c.BaseURL != want {
			t.Errorf("%s: %+v, %v, want %s", given, c, err, want)
		}
	}
}

// TestSettings: the settings of a site and of a folder arrive in their configurations, of which all
// fields are compared.
func TestSettings(t *testing.T) {
	c, err := parseServe([]string{
		"--listen=[::1]:80", "-base-url", "HTTPS://files.example.org/a/../é", "folder", "--prefix", "x/y.z",
		"--page-size", "50000", "--state", "x.db", "--window", "1h", "--retain", "7d", "--archive", "730d",
		"--package-size", "4GiB", "--package-every", "15m", "--sitemap", "--robots-resource-list", "--described-by", "urn:about", "--pages=false", "--log-format", "json", "--access-log", "combined",
		"--hub", "own", "--hub-min-lease", "10s", "--hub-retry", "2s", "--hub-give-up", "1d", "--allow-callbacks", "10.0.0.0/8", "--websocket", "--client-header", "x-forwarded-for",
		"--hash", "md5,sha-256", "--rescan", "1h30m", "--max-delete", "12.5%", "--max-delete-hold", "0", "--dumps", "--keep-versions", "30d",
		"--versions", "v", "--set-described-by", "urn:set", "--dot-files", "--exclude", "*.bak", "--exclude", "litter",
	})
	must(t, err)
	set := c.Sets[0]
	c.Sets, c.Catalog, c.Catalogs = nil, nil, nil
	for of, want := range map[any]string{
		c: "&{Listen:[::1]:80 BaseURL:https://files.example.org/%C3%A9/ Prefix:/x/y.z/ ClientHeader:X-Forwarded-For TlsCert: TlsKey: State:x.db ReadFrom: " +
			"Window:1h0m0s Retain:168h0m0s Archive:17520h0m0s PageSize:50000 pkgSize:4294967296 pkgEvery:900000000000 Sitemap:true Robots:true " +
			"About:{About:{Title: Description: Contact:}} DescribedBy:urn:about Pages:false ListEvery:1h0m0s PublishGzip:false " +
			"Push:{Own:true none:false Foreign:[] minLease:10000000000 retry:2000000000 giveUp:86400000000000 Callbacks:[10.0.0.0/8] WebSocket:true Origins:[]} " +
			"Status: Harvesters:true KeepHarvesters:false ShortenHarvesters:false LogFormat:json AccessLog:combined Sets:[] File: Catalog:<nil> Catalogs:[]}",
		set: "&{Common:{Kind:folder Name: Path: Rescan:1h30m0s MaxDelete:0.125 hold:0 Moved:false Dumps:true " +
			"About:{About:{Title: Description: Contact:}} DescribedBy:urn:set Publish: PublishAt:<nil> PingToken:} " +
			"Dir:folder hash:md5,sha-256 hashes:[md5 sha-256] Keep:720h0m0s versions:v dotFiles:true exclude:[*.bak litter] browse:true}",
	} {
		if got := fmt.Sprintf("%+v", of); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
