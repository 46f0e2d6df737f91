package main

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// packaged returns the pages in the packages of the Resource Dump, in order. Of an aborted
// package, it returns the pages that have arrived.
func (p *proxied) packaged() (pages []string) {
	p.t.Helper()
	packages := p.entries("/resourcesync/resourcedump.xml")
	if len(packages) == 0 {
		p.t.Fatal("there is no package")
	}
	for _, e := range packages {
		res, err := p.client.Get(e.Loc)
		must(p.t, err)
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		for i := range 100 {
			if strings.Contains(string(text), fmt.Sprintf("<title>%02d</title>", i)) { // packages are not compressed
				pages = append(pages, fmt.Sprintf("/page-%02d.html", i))
			}
		}
	}
	slices.Sort(pages)
	return pages
}

// TestNginxPackages has an nginx that permits only two networks to read some pages, by the address
// that a header names. Nobody else gets them from a package, although nginx answers this computer:
// neither those that were private when they were first requested, nor those that became private
// after they were listed, and before the next scan or visit.
func TestNginxPackages(t *testing.T) {
	t.Parallel()
	site := newStaticSite(t)
	closed := filepath.Join(site.folder, "closed")
	upstream := startNginx(t, "", "root "+site.folder+`; set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;
		location ~ ^/page-0[0-4].html$ { allow 127.0.0.0/8; allow 10.0.0.0/8; deny all; }
		location ~ ^/page-[1-9].*$ { error_page 418 = @private; if (-f `+closed+`) { return 418; } }
		location @private { allow 127.0.0.0/8; allow 10.0.0.0/8; deny all; }`)
	p := startProxy(t, "http://"+upstream, "http://"+nginxHost+"/", "--rescan", "1h", "--revisit", "0", "--rate", "10000", "--dumps")
	p.stdout.await("Ready")
	listed := p.listed()
	if len(listed) != 95 || listed[0] != "/page-05.html" {
		t.Fatalf("%d pages are listed: %q", len(listed), listed)
	}
	if got := p.packaged(); !slices.Equal(got, listed) {
		t.Errorf("the packages have %q", got)
	}

	write(t, closed, "")
	for _, path := range []string{"/page-00.html", "/page-10.html"} {
		if res, err := http.Get("http://" + upstream + path); err != nil || res.StatusCode != 200 {
			t.Errorf("nginx refuses this computer %s: %v, %v", path, res, err)
		}
	}
	if got := p.packaged(); len(got) > 0 && got[len(got)-1] > "/page-09.html" {
		t.Errorf("the packages have %q", got)
	}
}

// TestNginxLimited has an nginx that limits the requests of an address, and exempts the scanner with
// the rule of the documentation.
func TestNginxLimited(t *testing.T) {
	t.Parallel()
	site := newStaticSite(t)
	rule := snippet(t, "sidecar.md", "### As a visitor from elsewhere", "nginx")
	if !strings.Contains(rule, `https://www\.example\.org/`) {
		t.Fatalf("the rule names no website:\n%s", rule)
	}
	rule = strings.ReplaceAll(rule, `https://www\.example\.org/`, "http://"+strings.ReplaceAll(nginxHost, ".", `\.`)+"/")
	upstream := startNginxWith(t, "", rule, "root "+site.folder+"; limit_req zone=visitors; limit_req_status 429;")
	p := startProxy(t, "http://"+upstream, "http://"+nginxHost+"/", "--rescan", "1h", "--revisit", "0", "--rate", "10000")
	p.stdout.await("Ready")
	if got := p.listed(); len(got) != 100 {
		t.Errorf("%d pages are listed", len(got))
	}
	limited := 0
	for i := range 10 {
		res, err := http.Get(fmt.Sprintf("http://%s/page-%02d.html", upstream, i))
		must(t, err)
		if res.Body.Close(); res.StatusCode == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		t.Error("nginx limits nobody")
	}
}
