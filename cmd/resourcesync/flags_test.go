package main

import (
	"flag"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestFlags(t *testing.T) {
	c, err := parseServe([]string{
		"--listen=[::1]:80", "-base-url", "HTTPS://files.example.org/a/../é", "folder", "--prefix", "x/y.z",
		"--hash", "md5,sha-256", "--page-size", "50000", "--rescan", "1h30m", "--max-delete", "12.5%", "--max-delete-hold", "0", "--state", "x.db", "--window", "1h", "--retain", "7d", "--archive", "730d",
		"--dumps", "--package-size", "4GiB", "--package-every", "15m", "--keep-versions", "30d", "--versions", "v", "--sitemap", "--robots-resource-list", "--described-by", "urn:about", "--set-described-by", "urn:set", "--dot-files", "--pages=false", "--log-format", "json", "--access-log", "combined",
		"--hub", "own", "--hub-min-lease", "10s", "--hub-retry", "2s", "--hub-give-up", "1d", "--allow-callbacks", "10.0.0.0/8", "--websocket", "--client-header", "x-forwarded-for",
	})
	must(t, err)
	want := &siteConfig{
		listen: "[::1]:80", baseURL: "https://files.example.org/%C3%A9/", prefix: "/x/y.z/",
		state: "x.db", window: span(time.Hour), retain: span(7 * day), archive: span(730 * day),
		pageSize: 50_000, pkgSize: 4 << 30, pkgEvery: span(15 * time.Minute), client: "X-Forwarded-For", sitemap: true, robots: true, about: "urn:about", harvests: true, logFormat: "json", accessLog: "combined",
		push: pushConfig{
			own: true, minLease: span(10 * time.Second), retry: span(2 * time.Second), giveUp: span(day),
			callbacks: addresses{netip.MustParsePrefix("10.0.0.0/8")}, webSocket: true,
		},
		sets: []setConfig{&folderConfig{
			setSettings: setSettings{kind: "folder", rescan: 90 * time.Minute, maxDelete: 0.125, dumps: true, aboutSet: "urn:set"},
			folder:      "folder", hash: "md5,sha-256", hashes: []string{"md5", "sha-256"}, keep: span(30 * day), versions: "v", dotFiles: true, browse: true,
		}},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got\n%+v %+v\nwant\n%+v %+v", c, c.sets[0], want, want.sets[0])
	}
}

func TestFolderThatLooksLikeAFlag(t *testing.T) {
	if c, err := parseServe([]string{"--sitemap", "--", "-folder"}); err != nil || c.sets[0].(*folderConfig).folder != "-folder" {
		t.Errorf("%v, %v", c, err)
	}
}

// The error for a wrong value leads to a right one.
func TestValuesThatAreNone(t *testing.T) {
	for given, want := range map[string]string{
		"--package-size=5x":   "such as 500MB or 4GiB",
		"--package-size=-1":   "such as 500MB or 4GiB",
		"--package-every=1ms": "such as 15m or 1h",
		"--retain=30":         "such as 30m, 48h or 90d",
		"--hub-give-up=1.5d":  "such as 30m, 48h or 90d",
	} {
		if _, err := parseServe([]string{"folder", given}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q in it", given, err, want)
		}
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

func TestSizes(t *testing.T) {
	for given, want := range map[string]string{
		"0":                   "0",
		"1":                   "1",
		"1023B":               "1023",
		"1024":                "1KiB",
		"500MB":               "500MB",
		"4GiB":                "4GiB",
		"1000KB":              "1MB",
		"8388607TiB":          "8388607TiB",
		"8388608TiB":          "",
		"9223372036854775808": "",
		"-1":                  "",
		"1.5GB":               "",
		"1gb":                 "",
		"GB":                  "",
		"":                    "",
	} {
		var s size
		err := s.Set(given)
		if (err == nil) != (want != "") || err == nil && s.String() != want {
			t.Errorf("%s: %v, %v, want %q", given, &s, err, want)
		}
	}
}

func TestSpans(t *testing.T) {
	for given, want := range map[string]string{
		"90d":     "90d",
		"2160h":   "90d",
		"36h":     "36h0m0s",
		"1m30s":   "1m30s",
		"65535d":  "65535d",
		"65536d":  "",
		"-1d":     "",
		"1.5d":    "",
		"1d12h":   "",
		"d":       "",
		"30":      "",
		"300000h": "12500d",
	} {
		var s span
		err := s.Set(given)
		if (err == nil) != (want != "") || err == nil && s.String() != want {
			t.Errorf("%s: %v, %v, want %q", given, &s, err, want)
		}
	}
}

// TestOneMeaning: a flag is of one type in all commands that have it, because a variable sets
// all of them, and the flags whose values look alike begin with the same words in every help.
func TestOneMeaning(t *testing.T) {
	types, meanings := make(map[string]string), make(map[string]string)
	for _, c := range commands() {
		if c.flags == nil {
			continue
		}
		text, err := readHelp(c.name)
		must(t, err)
		c.flags().VisitAll(func(f *flag.Flag) {
			got := fmt.Sprintf("%T", f.Value)
			if before, ok := types[f.Name]; ok && before != got {
				t.Errorf("%s --%s is a %s, elsewhere a %s", c.name, f.Name, got, before)
			}
			types[f.Name] = got
		})
		for _, f := range text.Flags {
			switch f.Name {
			case "rate", "set", "uri", "concurrency", "allow-addresses", "ignore-robots", "log-format", "db", "key":
				if before, ok := meanings[f.Name]; ok && before != f.Summary() {
					t.Errorf("%s --%s: %s; elsewhere: %s", c.name, f.Name, f.Summary(), before)
				}
				meanings[f.Name] = f.Summary()
			}
		}
	}
}
