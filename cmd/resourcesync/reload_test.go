package main

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/oaitest"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/internal/subscriber"
)

// startRun runs a configuration file in a process of its own until the test ends.
func startRun(t testing.TB, file string, env ...string) *process {
	t.Helper()
	p := newRunner(t, file, env...)
	must(t, p.Start())
	p.site = p.stderr.await(`address=\S+ site=(http://[0-9.:]+/)`)[1]
	return p
}

// newRunner returns a process that will run a file. It has not been started.
func newRunner(t testing.TB, file string, env ...string) *process {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	p := &process{
		served: &served{t: t, stdout: newOutput(t), stderr: newOutput(t)},
		Cmd:    exec.CommandContext(t.Context(), program, "run", file),
	}
	p.Env = append(append(os.Environ(), beMain+"=1"), env...)
	p.Stdout, p.Stderr = p.stdout, p.stderr
	return p
}

// reload replaces the configuration with text, and waits for the line about it in the
// log.
func (p *process) reload(file, text, line string) {
	p.t.Helper()
	n := strings.Count(p.stderr.String(), line)
	write(p.t, file, text)
	must(p.t, p.Process.Signal(syscall.SIGHUP))
	p.stderr.awaitMore(line, n+1)
}

// A crawler reads all documents and resources of a Source repeatedly. The Source must not close
// its connections. The client itself closes one if a loaded machine stalls it between two
// requests (maxWriteWaitBeforeConnReuse of net/http).
type crawler struct {
	site     string // documents elsewhere are not read
	t        testing.TB
	client   *http.Client
	requests int
}

// A watchedConn fails the test if the other end closes the connection.
type watchedConn struct {
	net.Conn
	t testing.TB
}

func (c watchedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.t.Errorf("a connection was dropped: %v", err)
	}
	return n, err
}

func newCrawler(t testing.TB) *crawler {
	c := &crawler{t: t}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return watchedConn{conn, t}, nil
	}
	c.client = &http.Client{Transport: &http.Transport{DialContext: dial, MaxConnsPerHost: 1}}
	t.Cleanup(c.client.CloseIdleConnections)
	return c
}

func (c *crawler) get(url string) (body []byte, status int) {
	res, err := c.client.Get(url)
	if err != nil {
		c.t.Errorf("%s: %v", url, err)
		return nil, 0
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil {
		c.t.Errorf("%s: %v", url, err)
	}
	c.requests++
	return body, res.StatusCode
}

// crawl reads a document and what it lists. Documents of a set that has been removed or
// is not ready yet may be missing.
func (c *crawler) crawl(url string, mayMiss string) {
	body, status := c.get(url)
	if status != 200 {
		if mayMiss == "" || !strings.Contains(url, mayMiss) {
			c.t.Errorf("%s: %d %s", url, status, body)
		}
		return
	}
	var d document
	if xml.Unmarshal(body, &d) != nil || d.Metadata.Capability == "" {
		return // a resource
	}
	for _, e := range append(d.Entries, d.Parts...) {
		of := e.Metadata.Capability
		if of != "change-notification" && of != "framework-notification" && e.Metadata.Change != "deleted" && strings.HasPrefix(e.Loc, c.site) {
			c.crawl(e.Loc, mayMiss)
		}
	}
}

// A reloadedSite is a configuration of several sets, and their contents.
type reloadedSite struct {
	folders  string
	upstream string
	more     string // sections of sets that do not change
}

// text returns a configuration file. The settings of papers and pages depend on the
// version.
func (s *reloadedSite) text(version int, more string) string {
	return fmt.Sprintf(`listen: 127.0.0.1:0
state: %[1]s/state.db
rescan: 30s
allow-callbacks: 127.0.0.0/8
hub-retry: 100ms
websocket: true
sets:
  - name: data
    kind: folder
    folder: %[1]s/data
    path: /data/
  - name: papers
    kind: folder
    folder: %[1]s/papers
    path: /papers/
    max-delete: %[3]d%%
  - name: pages
    kind: upstream
    upstream: %[2]s
    rate: %[3]d
%[4]s%[5]s`, s.folders, s.upstream, 40+version, s.more, more)
}

// TestReload: SIGHUP repeatedly changes two of several sets, and adds and removes another,
// while a crawler, a subscriber and a WebSocket client are active and files change.
// Nothing is lost, and no connection is dropped.
func TestReload(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	site := &reloadedSite{folders: t.TempDir()}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sitemap.xml":
			fmt.Fprintf(w, `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://%s/page</loc></url></urlset>`, r.Host)
		case "/page":
			io.WriteString(w, "a page")
		default:
			http.NotFound(w, r)
		}
	}))
	defer upstream.Close()
	site.upstream = upstream.URL
	large := strings.Repeat("0123456789abcdef", 1<<20) // more than the buffers between the processes
	write(t, filepath.Join(site.folders, "papers/large"), large)
	write(t, filepath.Join(site.folders, "papers/a.txt"), "a")
	write(t, filepath.Join(site.folders, "data/a.txt"), "a")
	write(t, filepath.Join(site.folders, "extra/a.txt"), "a")
	repository := oaitest.New("", 0, time.Time{})
	repositoryServer := httptest.NewServer(repository)
	defer repositoryServer.Close()
	repository.Fill(repositoryServer.URL, 120, time.Now().Add(-24*time.Hour))
	site.more = fmt.Sprintf("  - {name: records, kind: oai, url: %s/oai, rate: 1000}\n", repositoryServer.URL)
	resources, sets := 124, 4
	if os.Getenv("RESOURCESYNC_TEST_MYSQL") != "" || os.Getenv("CI") != "" {
		address, db, _ := mysqlURL(t)
		for _, statement := range []string{createPosts, "INSERT INTO posts VALUES (1, 'one', 1, 0), (2, 'two', 2, 0)"} {
			_, err := db.ExecContext(t.Context(), statement)
			must(t, err)
		}
		site.more += fmt.Sprintf("  - {name: rows, kind: table, db: %q, table: posts, key: id, uri: 'https://example.org/{slug}', length: size}\n", address)
		resources, sets = resources+2, sets+1
	}
	var env []string
	if os.Getenv("RESOURCESYNC_TEST_S3") != "" || os.Getenv("CI") != "" {
		bucket := s3test.New(t)
		bucket.Publish(t, "*")
		bucket.Put(t, "a.txt", "a")
		env = bucket.Environ()
		site.more += fmt.Sprintf("  - {name: objects, kind: bucket, bucket: %q, uri: %q}\n", bucket.URL, bucket.Public)
		resources, sets = resources+1, sets+1
	}
	file := filepath.Join(t.TempDir(), "site.yaml")
	write(t, file, site.text(0, ""))
	p := startRun(t, file, env...)
	p.stdout.await(fmt.Sprintf("Ready: %d resources are listed in %d sets", resources, sets))

	// A subscriber to a set that stays, and one to a set that changes.
	topics := map[string]*subscriber.Subscriber{}
	for _, set := range []string{"data", "papers"} {
		topics[set] = subscriber.New(t, "a secret")
		topics[set].Subscribe(p.site+"websub/", p.site+"resourcesync/"+set+"/change/")
	}
	conn := dial(t, p.site+"resourcesync/papers/change/websocket")
	var overSocket atomic.Int64
	var over atomic.Bool
	go func() {
		for {
			_, message, err := conn.Read(t.Context())
			if err != nil {
				if !over.Load() {
					t.Errorf("WebSocket: %v", err)
				}
				return
			}
			overSocket.Add(int64(strings.Count(string(message), "<url>")))
		}
	}()
	// A transfer that begins before all reloads and ends after them.
	res, err := http.Get(p.site + "papers/large")
	must(t, err)
	defer res.Body.Close()
	begin := make([]byte, 1000)
	_, err = io.ReadFull(res.Body, begin)
	must(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	c := newCrawler(t)
	c.site = p.site
	work.Go(func() {
		for ctx.Err() == nil {
			c.crawl(p.site+".well-known/resourcesync", "/extra/")
		}
	})
	var written int
	work.Go(func() {
		for ; ctx.Err() == nil; written++ {
			for set := range topics {
				name := fmt.Sprintf("%s/w%04d", set, written)
				write(t, filepath.Join(site.folders, "new"), name)
				must(t, os.Rename(filepath.Join(site.folders, "new"), filepath.Join(site.folders, filepath.FromSlash(name))))
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	extra := fmt.Sprintf("  - {name: extra, kind: folder, folder: %s/extra, path: /extra/}\n", site.folders)
	for version := range needs.Size(2, 6) {
		more := []string{"", extra}[version%2]
		p.reload(file, site.text(version+1, more), `"configuration reloaded".* changed="papers pages"`)
		p.reload(file, site.text(version+1, "  - {name: extra, knd: folder}\n"), "configuration not reloaded.*unknown setting; did you mean kind")
		time.Sleep(200 * time.Millisecond)
	}
	cancel()
	work.Wait()
	if c.requests < needs.Size(15, 50) {
		t.Errorf("there were only %d requests", c.requests)
	}
	c.client.CloseIdleConnections() // the program closes them when it ends
	rest, err := io.ReadAll(res.Body)
	if err != nil || string(begin)+string(rest) != large {
		t.Errorf("the transfer has %d bytes of %d: %v", len(begin)+len(rest), len(large), err)
	}
	for set, d := range topics {
		for i := range written {
			awaitURI(d, 0, fmt.Sprintf("%s%s/w%04d", p.site, set, i))
		}
		if _, err := subscriber.Replay(d.Taken()); err != nil { // with a gap
			t.Errorf("%s: %v", set, err)
		}
	}
	for deadline := time.Now().Add(needs.Patience); overSocket.Load() < int64(written); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d changes over the WebSocket", overSocket.Load(), written)
		}
	}
	t.Logf("%d files written, %d requests", 2*written, c.requests)
	over.Store(true)
	conn.CloseNow()
	must(t, p.Process.Signal(os.Interrupt))
	if err := p.Wait(); err != nil {
		t.Errorf("%v\n%s", err, p.stderr)
	}
}
