package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrowse: the pages of folders list published files only.
func TestBrowse(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, path := range []string{"a.txt", "sub/b.txt", "site/index.html", ".hidden", ".git/config", "resourcesync/x.txt", "robots.txt"} {
		path = filepath.Join(folder, filepath.FromSlash(path))
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		write(t, path, "text")
	}
	for name, test := range map[string]struct {
		flags  []string
		pages  map[string]string // and the links on them
		others map[string]int
	}{
		"default": {nil,
			map[string]string{"": "/a.txt /robots.txt /site/ /sub/", "sub": "/sub/b.txt", "sub/": "/sub/b.txt", "?q=B.T": "/sub/b.txt"},
			map[string]int{"site/": 200, "site/index.html": 200, "resourcesync/": 200, ".git/": 404},
		},
		"dot files": {[]string{"--dot-files"},
			map[string]string{"": "/.git/ /.hidden /a.txt /robots.txt /site/ /sub/", ".git/": "/.git/config"},
			map[string]int{"resourcesync/": 200, ".well-known/": 404},
		},
		"prefix /": {[]string{"--prefix", "/", "--sitemap"},
			map[string]string{"": "/a.txt /resourcesync/ /site/ /sub/", "resourcesync/": "/resourcesync/x.txt"},
			map[string]int{"resourcelist/": 404},
		},
		"disabled": {[]string{"--browse=false"}, nil,
			map[string]int{"": 404, "sub": 404, "sub/": 404, "site/": 404, "site/index.html": 200},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startReady(t, folder, append(test.flags, "--state", filepath.Join(t.TempDir(), "state"))...)
			for path, want := range test.pages {
				res, body := s.get(path)
				var links []string
				for _, line := range strings.Split(body, "<tr><td>")[1:] {
					_, line, _ = strings.Cut(line, `href="/`)
					link, _, _ := strings.Cut(line, `"`)
					links = append(links, "/"+link)
				}
				if got := strings.Join(links, " "); res.StatusCode != 200 || got != want || res.Header.Get("Link") != "" {
					t.Errorf("%q: %s, %v, links %s, expected %s", path, res.Status, res.Header, got, want)
				}
				if !strings.Contains(body, "description.html\">Source</a>") {
					t.Errorf("%q does not link to the Source", path)
				}
			}
			for path, want := range test.others {
				if res, _ := s.get(path); res.StatusCode != want || strings.Contains(res.Header.Get("Link"), `rel="resourcesync"`) != (path == "site/index.html") {
					t.Errorf("%q: %s, %v, expected %d", path, res.Status, res.Header, want)
				}
			}
		})
	}
}

// TestPagesDisabled: with --pages=false, a browser gets XML, pages of folders and of the status
// link to it, and files may have the names of HTML pages.
func TestPagesDisabled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, name := range []string{"description.html", "changelist.html"} {
		write(t, filepath.Join(folder, name), "mine")
	}
	s := startReady(t, folder, "--pages=false", "--prefix", "/", "--status", "127.0.0.1:0", "--state", filepath.Join(t.TempDir(), "state"))
	const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0"
	for path, want := range map[string]string{
		"resourcelist.xml": "<urlset", "description.html": "mine", "changelist.html": "mine", "": `/.well-known/resourcesync">Source</a>`,
	} {
		if res, body := s.getAs(s.site+path, firefox, browserAccept); res.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%q: %s, want %s\n%s", path, res.Status, want, body)
		}
	}
	if res, body := s.getAs(s.stderr.await(`status for operators.* url=(\S+)`)[1], firefox, browserAccept); res.StatusCode != 200 || !strings.Contains(body, `/.well-known/resourcesync">Source</a>`) {
		t.Errorf("status: %s\n%s", res.Status, body)
	}
}
