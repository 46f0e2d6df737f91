package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestD7_Robots: robots.txt names the sitemap, the Resource List or both, as the flags
// say. The lines are added to the folder's own robots.txt, which is no longer listed,
// because its listed hash would be wrong.
func TestD7_Robots(t *testing.T) {
	t.Parallel()
	const own = "User-agent: *\nDisallow: /x/\n"
	for _, tt := range []struct {
		flags  []string
		names  []string // below the base URL
		listed bool
	}{
		{nil, nil, true},
		{[]string{"--sitemap"}, []string{"resourcesync/sitemap.xml"}, false},
		{[]string{"--robots-resource-list"}, []string{"resourcesync/resourcelist.xml"}, false},
		{[]string{"--sitemap", "--robots-resource-list", "--prefix", "/"}, []string{"sitemap.xml", "resourcelist.xml"}, false},
	} {
		t.Run(strings.Join(tt.flags, " "), func(t *testing.T) {
			folder := t.TempDir()
			write(t, filepath.Join(folder, "a.txt"), "a")
			s := startReady(t, folder, append(tt.flags, "--rescan", "1s")...)
			want := ""
			for _, name := range tt.names {
				want += "Sitemap: " + s.site + name + "\n"
			}
			if res, body := s.get("robots.txt"); want == "" && res.StatusCode != 404 || want != "" && body != want {
				t.Errorf("without one in the folder: %s %q, want %q", res.Status, body, want)
			}
			for _, name := range tt.names {
				if res, _ := s.get(name); res.StatusCode != 200 {
					t.Errorf("%s: %s", name, res.Status)
				}
			}
			s.write("robots.txt", own)
			s.write("b.txt", "b")
			s.stderr.await("changes found")
			if res, body := s.get("robots.txt"); res.StatusCode != 200 || body != own+want {
				t.Errorf("with one in the folder: %s %q, want %q", res.Status, body, own+want)
			}
			if got := strings.Contains(s.listed(), "robots.txt"); got != tt.listed {
				t.Errorf("listed: %v, want %v", got, tt.listed)
			}
		})
	}
}

// TestD7_RobotsOfTheFolderStaysInIt: a robots.txt that links to a file outside the
// folder is not served.
func TestD7_RobotsOfTheFolderStaysInIt(t *testing.T) {
	folder, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	must(t, os.Symlink(outside, filepath.Join(folder, "robots.txt")))
	s := startReady(t, folder, "--robots-resource-list")
	if res, body := s.get("robots.txt"); res.StatusCode != 200 || body != "Sitemap: "+s.site+"resourcesync/resourcelist.xml\n" {
		t.Errorf("%s %q", res.Status, body)
	}
}

// TestD7_PrefixRoot: with the prefix / the documents are at the top. Files and folders
// that collide with them are not published, and the log names each. All others are
// published.
func TestD7_PrefixRoot(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, key := range []string{
		"resourcelist.xml", "sitemap.xml", "healthz", "readyz", "changelist/x.txt", // in the way
		"a.txt", "a.xml", "sub/resourcelist.xml", "description.xml", "resourcelists/a.zip", "websub/a.txt", // not
	} {
		write(t, filepath.Join(folder, filepath.FromSlash(key)), "file")
	}
	s := startReady(t, folder, "--prefix", "/", "--sitemap", "--hub", "own")
	if got := s.listed(); got != "a.txt a.xml description.xml resourcelists/a.zip sub/resourcelist.xml websub/a.txt" {
		t.Errorf("listed: %s", got)
	}
	for _, key := range []string{"a.xml", "sub/resourcelist.xml", "resourcelists/a.zip"} {
		if res, body := s.get(key); res.StatusCode != 200 || body != "file" {
			t.Errorf("%s: %s %q", key, res.Status, body)
		}
	}
	for _, name := range []string{"capabilitylist.xml", "resourcelist.xml", "changelist.xml", "resourcedump.xml", "sitemap.xml", ".well-known/resourcesync", "change/", "framework/", "healthz", "readyz"} {
		if res, body := s.get(name); res.StatusCode != 200 || body == "file" {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	for _, key := range []string{"resourcelist.xml", "sitemap.xml", "healthz", "changelist"} {
		if !strings.Contains(s.stderr.String(), "path="+filepath.Join(folder, key)+"\n") {
			t.Errorf("the log does not name %s:\n%s", key, s.stderr)
		}
	}
}

// TestD8_DescribedBy: documents link to the descriptions that the flags name.
func TestD8_DescribedBy(t *testing.T) {
	t.Parallel()
	s := startReady(t, sampleFolder(t), "--described-by", "https://example.org/about", "--set-described-by", "https://example.org/files")
	_, description := s.get(".well-known/resourcesync")
	_, capabilities := s.get("resourcesync/capabilitylist.xml")
	link := func(uri string) string { return `<rs:ln rel="describedby" href="` + uri + `"/>` }
	if !strings.Contains(description, link("https://example.org/about")) || !strings.Contains(description, link("https://example.org/files")) {
		t.Errorf("Source Description:\n%s", description)
	}
	if strings.Contains(capabilities, "/about") || !strings.Contains(capabilities, link("https://example.org/files")) {
		t.Errorf("Capability List:\n%s", capabilities)
	}
	for _, flag := range []string{"--described-by", "--set-described-by"} {
		if _, err := parseServe([]string{"folder", flag, "about.html"}); err == nil || !strings.Contains(err.Error(), flag+` "about.html": `) {
			t.Errorf("%s about.html: %v", flag, err)
		}
	}
}
