package main

import (
	"cmp"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/pgstore"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pgtest"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// A cluster is a Source of several processes, with everything around them, and mirrors.
type cluster struct {
	t                *testing.T
	log              *runLog
	primary, standby *pgtest.Server
	db               *pgxpool.Pool // of the host
	folder           string        // of files
	site             string        // URL
	address          string        // of the databases
	bucket           *s3test.Bucket
	store, front     *service
	accessLog        string // of front
	peers            []*peer
	mirrors          []*clusterMirror
	files, rows      *writer
	previous         string // program of the previous release; empty: it was not built
}

// newCluster starts a cluster. Everything listens at addresses that stay the same.
func newCluster(t *testing.T, log *runLog, previous string) *cluster {
	c := &cluster{t: t, log: log, previous: previous, folder: t.TempDir(), site: "http://" + needs.Address(t) + "/"}
	c.startDatabases()
	c.startStore()
	c.startPeers()
	c.startFront()
	c.startMirrors()
	return c
}

// startDatabases starts two servers with synchronous replication, and a table of the host.
func (c *cluster) startDatabases() {
	t := c.t
	c.primary = pgtest.Start(t)
	c.standby = c.primary.Standby()
	c.primary.Synchronous(true)
	c.address = pgtest.Address(c.primary, c.standby) + "&connect_timeout=2"
	config, err := pgxpool.ParseConfig(c.address)
	must(t, err)
	pgstore.Follow(config)
	c.db, err = pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(c.db.Close)
	_, err = c.db.Exec(t.Context(), rowsTable)
	must(t, err)
	current, err := os.Executable()
	must(t, err)
	// The previous release refuses a state that the current program has first made.
	triggers := exec.CommandContext(t.Context(), cmp.Or(c.previous, current), "triggers", "--db", c.address, "--set", "pages", "--table", "pages", "--key", "id",
		"--uri", c.site+"pages/{id}", "--lastmod", "changed", "--length", "length", "--hash-column", "sha-256=hash", "--apply")
	triggers.Env = append(os.Environ(), beMain+"=1")
	if out, err := triggers.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c.rows, c.files = newRowWriter(c.db), newFileWriter(t, c.folder)
	for range 600 {
		c.rows.change()
		c.files.change()
	}
}

// startStore starts an S3 server with a public bucket.
func (c *cluster) startStore() {
	t := c.t
	program := needs.Program(t, "versitygw")
	address, folder := needs.Address(t), t.TempDir()
	for _, name := range []string{"objects", "metadata"} {
		must(t, os.Mkdir(filepath.Join(folder, name), 0o755))
	}
	c.store = newService(t, "store", "http://"+address+"/health", func() *exec.Cmd {
		cmd := exec.Command(program, "--port", address, "--health", "/health", "--keep-alive", "posix", "--sidecar", filepath.Join(folder, "metadata"), filepath.Join(folder, "objects"))
		cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID=test", "ROOT_SECRET_ACCESS_KEY=testsecret")
		return cmd
	})
	c.store.start()
	c.bucket = s3test.On(t, "http://test:testsecret@"+address)
	c.bucket.Publish(t, "*")
}

// A peer is one of the processes of the Source. Its program is another one after an upgrade.
type peer struct {
	*service
	address, status string
	program         string
	previous        bool // the program is the previous release
}

// startPeers starts three processes that share the state.
func (c *cluster) startPeers() {
	current, err := os.Executable()
	must(c.t, err)
	for n := range 3 {
		p := &peer{address: needs.Address(c.t), status: needs.Address(c.t), program: current}
		file := filepath.Join(c.t.TempDir(), "site.yaml")
		p.service = newService(c.t, fmt.Sprint("process", n+1), "http://"+p.address+"/resourcesync/readyz", func() *exec.Cmd {
			write(c.t, file, c.configuration(p))
			cmd := exec.Command(p.program, "run", file)
			cmd.Env = append(append(os.Environ(), beMain+"=1"), c.bucket.Environ()...)
			return cmd
		})
		p.start()
		c.peers = append(c.peers, p)
	}
}

// configuration returns the configuration of a process. The previous release lacks some settings.
func (c *cluster) configuration(p *peer) string {
	var b strings.Builder
	fmt.Fprintf(&b, `listen: %s
status: %s
base-url: %s
state: %q
client-header: X-Forwarded-For
allow-callbacks: [127.0.0.0/8]
hub-retry: 200ms
websocket: true
page-size: 100
package-size: 100KiB
rescan: 1h
`, p.address, p.status, c.site, c.address)
	if !p.previous {
		u, err := url.Parse(c.bucket.URL)
		must(c.t, err)
		u.Path = "/site/"
		fmt.Fprintf(&b, "read-from: %q\npublish: %q\npublish-lists: 30s\n", strings.Replace(c.address, "=read-write", "=standby", 1), u)
	}
	fmt.Fprintf(&b, `sets:
- {name: files, kind: folder, folder: %q, path: /files/, dumps: true}
- {name: pages, kind: table, db: %q, set: pages, table: pages, key: id, uri: "%spages/{id}", lastmod: changed, length: length, hash-column: ["sha-256=hash"]}
`, c.folder, c.address, c.site)
	return b.String()
}

// startFront starts nginx. It sends requests to the processes in turn. The mirror named bucket reads the documents
// from the bucket instead, through a cache.
func (c *cluster) startFront() {
	t := c.t
	pages := httptest.NewServer(website(c.db))
	t.Cleanup(pages.Close)
	objects, err := url.Parse(strings.TrimSuffix(c.bucket.Public, "{key}"))
	must(t, err)
	var servers strings.Builder
	for _, p := range c.peers {
		fmt.Fprintf(&servers, "server %s max_fails=1 fail_timeout=1s; ", p.address)
	}
	beside := fmt.Sprintf(`
	proxy_cache_path %s levels=1 keys_zone=documents:1m;
	upstream processes { %s }
	map $http_user_agent $from_bucket { default 0; "~name=bucket" 1; }
	proxy_connect_timeout 1s; proxy_http_version 1.1;
	log_format ways "$time_iso8601 $status $request_method $request_uri $http_user_agent $upstream_addr $upstream_cache_status";
`, t.TempDir(), &servers)
	c.accessLog = filepath.Join(t.ArtifactDir(), "nginx-access.log")
	server := fmt.Sprintf(`
	access_log %[4]s ways;
	location = /front { return 200; }
	location ~ ^/(\.well-known/resourcesync$|resourcesync/.*\.xml$) {
		if ($from_bucket) { rewrite ^(.*)$ /from-bucket$1 last; }
		proxy_pass http://processes;
		proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
	}
	location /from-bucket/ {
		internal;
		rewrite ^/from-bucket(.*)$ %[2]ssite$1 break;
		proxy_pass http://%[1]s;
		proxy_cache documents; proxy_cache_lock on;
	}
	location /pages/ { proxy_pass %[3]s; }
	location / {
		proxy_pass http://processes; proxy_buffering off;
		proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
		proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $http_connection;
	}
`, objects.Host, objects.Path, pages.URL, c.accessLog)
	listen := strings.TrimSuffix(strings.TrimPrefix(c.site, "http://"), "/")
	c.front = newService(t, "nginx", c.site+"front", nginxCommand(t, listen, beside, server))
	c.front.start()
}
