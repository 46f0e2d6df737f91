package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestNginxManyRefused has an nginx that begins to refuse all pages to strangers: the lists
// answer 503, and healthz says why, until --scan-as none is given.
func TestNginxManyRefused(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	site := newStaticSite(t)
	upstream, closePages := closable(t, site)
	state := filepath.Join(t.TempDir(), "state.db")
	flags := []string{"--rescan", "1s", "--revisit", "100", "--rate", "1000", "--state", state}
	p := startProxy(t, upstream, "http://"+nginxHost+"/", flags...)
	p.stdout.await("Ready")
	if got := p.listed(); len(got) != 100 {
		t.Fatalf("%d pages are listed", len(got))
	}
	closePages()
	p.within("the lists answer 503", func() bool {
		res, _ := p.do("GET", "/resourcesync/resourcelist.xml", "")
		return res.StatusCode == 503
	})
	if _, text := p.do("GET", "/resourcesync/healthz", ""); !strings.Contains(text, "X-Forwarded-For") || !strings.Contains(text, "--scan-as") || !strings.Contains(text, "confirm-deletions") || !strings.Contains(text, "allow 192.0.2.1;") {
		t.Errorf("healthz says %q", text)
	}
	if log := p.stderr.String(); !strings.Contains(log, "X-Forwarded-For") || !strings.Contains(log, "--scan-as") || !strings.Contains(log, "confirm-deletions") || !strings.Contains(log, "allow 192.0.2.1;") {
		t.Errorf("log:\n%s", log)
	}
	p.stop()
	p = startProxy(t, upstream, "http://"+nginxHost+"/", append(flags, "--scan-as", "none")...)
	p.stdout.await("Ready")
	p.within("all pages are listed again", func() bool { return len(p.listed()) == 100 })
	if got := p.changes(); slices.ContainsFunc(got, func(c string) bool { return strings.HasPrefix(c, "deleted ") }) {
		t.Errorf("published: %q", got)
	}
	p.stop()

	// A confirmation has the same effect on a running proxy and on the next one.
	p = startProxy(t, upstream, "http://"+nginxHost+"/", flags...)
	p.within("the lists answer 503", func() bool {
		res, _ := p.do("GET", "/resourcesync/resourcelist.xml", "")
		return res.StatusCode == 503
	})
	var said string
	p.within("the state says so", func() bool {
		said = outputOf(t, append([]string{"confirm-deletions", "proxy", "--upstream", upstream, "--base-url", "http://" + nginxHost + "/"}, "--state", state)...)
		return strings.HasPrefix(said, "Confirmed")
	})
	p.within("all are reported as deleted", func() bool { return len(p.deleted()) == 100 && len(p.listed()) == 0 })
	if log := p.stderr.String(); strings.Contains(log, "broke its contract") {
		t.Errorf("log:\n%s", log)
	}
}

// closable starts an nginx that refuses all pages of a site to strangers while a file is in its
// folder, and returns its URL and a function that creates the file.
func closable(t *testing.T, site *staticSite) (upstream string, closePages func()) {
	t.Helper()
	closed := filepath.Join(site.folder, "closed")
	address := startNginx(t, "", "root "+site.folder+"; set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;"+`
		location ~ ^/page-.*$ { set $refuse "${remote_addr}"; if (-f `+closed+`) { set $refuse "${refuse} closed"; } if ($refuse = "192.0.2.1 closed") { return 403; } }`)
	return "http://" + address, func() { write(t, closed, "") }
}

// isHidden reports whether the lists answer 503 and healthz names the header.
func (p *proxied) isHidden() bool {
	res, _ := p.do("GET", "/resourcesync/resourcelist.xml", "")
	_, text := p.do("GET", "/resourcesync/healthz", "")
	return res.StatusCode == 503 && strings.Contains(text, "X-Forwarded-For")
}

// deleted returns the paths that are published as deleted.
func (p *proxied) deleted() map[string]bool {
	deleted := map[string]bool{}
	for _, c := range p.changes() {
		if path, ok := strings.CutPrefix(c, "deleted "); ok {
			deleted[path] = true
		}
	}
	return deleted
}

// TestNginxConfirmedWhileStopped has a proxy that is stopped after it has hidden its set. The next
// one hides it from its start on, and follows a confirmation that was given while none was running.
func TestNginxConfirmedWhileStopped(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	site := newStaticSite(t)
	upstream, closePages := closable(t, site)
	state := filepath.Join(t.TempDir(), "state.db")
	flags := []string{"--rescan", "1s", "--revisit", "100", "--rate", "1000", "--state", state}
	p := startProxy(t, upstream, "http://"+nginxHost+"/", flags...)
	p.stdout.await("Ready")
	closePages()
	p.within("the set is hidden", p.isHidden)
	p.stop()

	p = startProxy(t, upstream, "http://"+nginxHost+"/", append(flags, "--revisit", "0", "--rescan", "1h")...)
	if !p.isHidden() {
		t.Error("the next proxy shows the set")
	}
	p.stop()

	said := outputOf(t, "confirm-deletions", "proxy", "--upstream", upstream, "--base-url", "http://"+nginxHost+"/", "--state", state)
	if !strings.HasPrefix(said, "Confirmed") {
		t.Fatalf("said %q", said)
	}
	p = startProxy(t, upstream, "http://"+nginxHost+"/", flags...)
	p.within("all are reported as deleted", func() bool { return len(p.deleted()) == 100 && len(p.listed()) == 0 })
}

// TestNginxConfirmedWithoutVisits has a proxy that visits no pages. After a confirmation, it requests
// all of them once, so that private pages do not stay in the lists.
func TestNginxConfirmedWithoutVisits(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	site := newStaticSite(t)
	upstream, closePages := closable(t, site)
	state := filepath.Join(t.TempDir(), "state.db")
	flags := []string{"--rescan", "1h", "--revisit", "0", "--rate", "1000", "--state", state}
	p := startProxy(t, upstream, "http://"+nginxHost+"/", flags...)
	p.stdout.await("Ready")
	p.stop()
	closePages()
	p = startProxy(t, upstream, "http://"+nginxHost+"/", flags...)
	p.within("the set is hidden", p.isHidden)
	p.within("the state says so", func() bool {
		said := outputOf(t, "confirm-deletions", "proxy", "--upstream", upstream, "--base-url", "http://"+nginxHost+"/", "--state", state)
		return strings.HasPrefix(said, "Confirmed")
	})
	p.within("all are reported as deleted", func() bool { return len(p.deleted()) == 100 && len(p.listed()) == 0 })
}

// TestNginxReplicas has two proxies with one state in PostgreSQL. One finds out that its set must be
// hidden, and the other, which requests no pages, hides it, too. A confirmation is for both.
func TestNginxReplicas(t *testing.T) {
	t.Parallel()
	site := newStaticSite(t)
	upstream, closePages := closable(t, site)
	state := newPostgres(t)
	visiting := startProxy(t, upstream, "http://"+nginxHost+"/", "--rescan", "1s", "--revisit", "100", "--rate", "1000", "--state", state)
	visiting.stdout.await("Ready")
	idle := startProxy(t, upstream, "http://"+nginxHost+"/", "--rescan", "1h", "--revisit", "0", "--rate", "1000", "--state", state)
	idle.stdout.await("Ready")
	if got := idle.listed(); len(got) != 100 {
		t.Fatalf("%d pages are listed", len(got))
	}
	time.Sleep(3 * 2 * time.Second) // the idle one has requested its sample
	closePages()
	for _, p := range []*proxied{visiting, idle} {
		p.within("the set is hidden", p.isHidden)
	}
	said := outputOf(t, "confirm-deletions", "proxy", "--upstream", upstream, "--base-url", "http://"+nginxHost+"/", "--state", state)
	if !strings.HasPrefix(said, "Confirmed") {
		t.Fatalf("said %q", said)
	}
	for _, p := range []*proxied{visiting, idle} {
		p.within("all are reported as deleted", func() bool { return len(p.deleted()) == 100 && len(p.listed()) == 0 })
	}
}
