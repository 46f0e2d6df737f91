package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/subscriber"
)

// previousRelease is the commit that stands for the previous release. Its program and the current
// one use the same state at the same time.
const previousRelease = "60ea5161"

// previousProgram builds the program of the previous release. It skips the test, except where all cases
// are tested.
func previousProgram(t *testing.T) string {
	t.Helper()
	if needs.Size(0, 1) == 0 {
		t.Skip("building the previous release takes minutes")
	}
	root, err := filepath.Abs("../..")
	must(t, err)
	folder := t.TempDir()
	archive := filepath.Join(folder, "archive.tar")
	for _, step := range []struct {
		in      string
		command []string
	}{
		{root, []string{"git", "archive", "-o", archive, previousRelease}},
		{folder, []string{"tar", "-xf", archive}},
		{folder, []string{"go", "build", "-trimpath", "-o", "previous", "./cmd/resourcesync"}},
	} {
		c := exec.CommandContext(t.Context(), step.command[0], step.command[1:]...)
		c.Dir = step.in
		if out, err := c.CombinedOutput(); err != nil {
			needs.Skip(t, fmt.Sprintf("%v: %v\n%s", step.command, err, out))
		}
	}
	return filepath.Join(folder, "previous")
}

// A balancer sends requests to processes in turn, except to those that are about to be stopped.
type balancer struct {
	*httptest.Server
	mu    sync.Mutex
	sites []*url.URL
	next  int
}

func newBalancer(t *testing.T) *balancer {
	b := &balancer{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.next++
		r.SetURL(b.sites[b.next%len(b.sites)])
		r.Out.Host = r.In.Host
	}}
	b.Server = httptest.NewServer(proxy)
	t.Cleanup(b.Close)
	return b
}

func (b *balancer) use(running ...*process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sites = nil
	for _, p := range running {
		u, err := url.Parse(p.site)
		must(p.t, err)
		b.sites = append(b.sites, u)
	}
}

// TestUpgradeUnderLoad upgrades three processes that share a state, one after the other, and
// downgrades them again, while files change. No reader gets an error, and a subscriber every change.
func TestUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	previous := previousProgram(t)
	current, err := os.Executable()
	must(t, err)
	folder := t.TempDir()
	front := newBalancer(t)
	flags := append([]string{"--base-url", front.URL + "/", "--state", newPostgres(t), "--rescan", "1h"}, loopback...)
	begin := func(program string) *process {
		p := newProcess(t, program, folder, flags...)
		must(t, p.Start())
		p.awaitListening()
		p.stdout.await("Ready")
		return p
	}
	end := func(p *process) {
		must(t, p.Process.Signal(syscall.SIGTERM))
		must(t, p.Wait())
	}
	running := []*process{begin(previous), begin(previous), begin(previous)}
	front.use(running...)
	site := &served{t: t, folder: folder, site: front.URL + "/"}
	capabilities := site.capabilities()
	d := subscriber.New(t, "a secret")
	d.Subscribe(site.site+"websub/", capabilities["change-notification"])

	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	var written, read atomic.Int64
	work.Go(func() {
		for ctx.Err() == nil {
			n := written.Add(1)
			site.write(fmt.Sprintf("file%02d", n%50), fmt.Sprint("content ", n))
			time.Sleep(20 * time.Millisecond)
		}
	})
	for _, capability := range []string{"resourcelist", "changelist"} {
		work.Go(func() {
			for ctx.Err() == nil {
				res, err := http.Get(capabilities[capability])
				if err != nil || res.StatusCode != http.StatusOK {
					t.Errorf("%s: %v, %v", capability, res, err)
				}
				if err == nil {
					res.Body.Close()
				}
				read.Add(1)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	for _, program := range []string{current, previous} {
		for i, p := range running {
			front.use(slices.Delete(slices.Clone(running), i, i+1)...)
			time.Sleep(500 * time.Millisecond) // requests that the process has got
			end(p)
			running[i] = begin(program)
			front.use(running...)
		}
	}
	stop()
	work.Wait()
	site.awaitReplica(d)
	t.Logf("%d changes and %d requests during 3 upgrades and 3 downgrades", written.Load(), read.Load())
	for _, p := range running {
		end(p)
	}
}
