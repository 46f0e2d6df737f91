package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/daemon"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/state"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file, and creates its folders.
func write(t testing.TB, path, body string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(body), 0o644))
}

// An output is the output of a program, which tests can wait for.
type output struct {
	t    testing.TB
	mu   sync.Mutex
	more sync.Cond
	buf  bytes.Buffer
}

func newOutput(t testing.TB) *output {
	o := &output{t: t}
	o.more.L = &o.mu
	return o
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.more.Broadcast()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// await waits for text that pattern matches, and returns it and its groups.
func (o *output) await(pattern string) []string {
	o.t.Helper()
	return o.awaitMore(pattern, 1)
}

// awaitMore waits until pattern has matched n times, and returns the last match.
func (o *output) awaitMore(pattern string, n int) []string {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), needs.Patience)
	defer cancel()
	defer context.AfterFunc(ctx, o.wake)()
	p := regexp.MustCompile(pattern)
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		if found := p.FindAllStringSubmatch(o.buf.String(), -1); len(found) >= n {
			return found[n-1]
		}
		if ctx.Err() != nil {
			o.t.Fatalf("not %d times %q:\n%s", n, pattern, &o.buf)
		}
		o.more.Wait()
	}
}

func (o *output) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.more.Broadcast()
}

// A served folder is published by run, with real files and real HTTP.
type served struct {
	t              testing.TB
	folder         string
	site           string // URL of the folder at the listener
	stdout, stderr *output
	stop           func() // ends serving, which must be clean
}

// start serves folder and waits until the listener is open.
func start(t testing.TB, folder string, flags ...string) *served {
	t.Helper()
	s := &served{t: t, folder: folder, stdout: newOutput(t), stderr: newOutput(t)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	if i := slices.Index(flags, "--listen"); i >= 0 {
		needs.AwaitFree(t, flags[i+1])
	}
	args := append([]string{"serve", "--listen", "127.0.0.1:0", folder}, flags...)
	status := make(chan int, 1)
	go func() { status <- run(ctx, args, s.stdout, s.stderr) }()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if status := <-status; status != 0 {
			t.Errorf("status %d:\n%s", status, s.stderr)
		}
	})
	t.Cleanup(s.stop)
	s.awaitListening()
	return s
}

func (s *served) awaitListening() {
	s.t.Helper()
	s.site = "http://" + s.stderr.await(`address"?[=:]"?([0-9.:]+)`)[1] + "/"
}

// startReady serves folder and waits until it is ready.
func startReady(t testing.TB, folder string, flags ...string) *served {
	t.Helper()
	s := start(t, folder, flags...)
	s.stdout.await("Ready")
	return s
}

// write writes a file of the folder atomically, so that no scan finds half of it.
func (s *served) write(key, body string) {
	s.t.Helper()
	elsewhere := filepath.Join(s.t.TempDir(), "file")
	write(s.t, elsewhere, body)
	path := filepath.Join(s.folder, filepath.FromSlash(key))
	must(s.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(s.t, os.Rename(elsewhere, path))
}

// publicURL is a base URL for documents, regardless of the address of the listener.
const publicURL = "https://files.example.org/"

// get gets a URL, which may be relative to the site.
func (s *served) get(url string) (*http.Response, string) {
	s.t.Helper()
	url = strings.TrimPrefix(url, publicURL)
	if !strings.Contains(url, "://") {
		url = s.site + url
	}
	return get(s.t, url)
}

// key returns the part of a URI after the base URL.
func (s *served) key(uri string) string {
	return strings.TrimPrefix(strings.TrimPrefix(uri, s.site), publicURL)
}

func get(t testing.TB, url string) (*http.Response, string) {
	t.Helper()
	res, err := http.Get(url)
	must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	return res, string(body)
}

// A document is any document of a Source, as parsed by encoding/xml.
type document struct {
	Metadata metadata `xml:"http://www.openarchives.org/rs/terms/ md"`
	Entries  []entry  `xml:"url"`
	Parts    []entry  `xml:"sitemap"`
}

type entry struct {
	Loc      string    `xml:"loc"`
	LastMod  time.Time `xml:"lastmod"`
	Metadata metadata  `xml:"http://www.openarchives.org/rs/terms/ md"`
}

type metadata struct {
	Capability string `xml:"capability,attr"`
	At         string `xml:"at,attr"`
	Change     string `xml:"change,attr"`
	Datetime   string `xml:"datetime,attr"`
	From       string `xml:"from,attr"`
	Hash       string `xml:"hash,attr"`
	Length     string `xml:"length,attr"`
	Path       string `xml:"path,attr"`
	Type       string `xml:"type,attr"`
}

// document gets a document and checks its type.
func (s *served) document(url, capability string) document {
	s.t.Helper()
	res, body := s.get(url)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/xml" {
		s.t.Fatalf("%s: %s %s", url, res.Status, body)
	}
	var d document
	must(s.t, xml.Unmarshal([]byte(body), &d))
	if d.Metadata.Capability != capability {
		s.t.Fatalf("%s: capability %q, want %q", url, d.Metadata.Capability, capability)
	}
	return d
}

// capabilities follows the links from the well-known URI, and returns the URLs of the
// only set by capability.
func (s *served) capabilities() map[string]string {
	s.t.Helper()
	description := s.document(s.site+".well-known/resourcesync", "description")
	if len(description.Entries) != 1 {
		s.t.Fatalf("%d sets", len(description.Entries))
	}
	found := map[string]string{}
	for _, e := range s.document(description.Entries[0].Loc, "capabilitylist").Entries {
		found[e.Metadata.Capability] = e.Loc
	}
	return found
}

// list returns the entries of a list, and for an index the entries of its parts.
func (s *served) list(capability string) []entry {
	s.t.Helper()
	d := s.document(s.capabilities()[capability], capability)
	entries := d.Entries
	for _, p := range d.Parts {
		entries = append(entries, s.document(p.Loc, capability).Entries...)
	}
	return entries
}

// listed returns the URIs of the Resource List, below the site.
func (s *served) listed() string {
	s.t.Helper()
	var names []string
	for _, e := range s.list("resourcelist") {
		names = append(names, s.key(e.Loc))
	}
	return strings.Join(names, " ")
}

// changes returns the entries of the Change List in the form "created a.txt".
func (s *served) changes() []string {
	s.t.Helper()
	var changes []string
	for _, e := range s.list("changelist") {
		changes = append(changes, fmt.Sprintf("%s %s", e.Metadata.Change, s.key(e.Loc)))
	}
	return changes
}

// eraseLine is what the program writes to a terminal to remove a status line.
const eraseLine = "\r\x1b[K"

// open opens the set of c. Only scans of its scanner keep it up to date.
func open(t testing.TB, c *site.Config, st *state.State, screen *terminal.Screen) *daemon.Member {
	t.Helper()
	m, err := daemon.OpenMember(t.Context(), c, c.Sets[0], st, screen, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() { must(t, m.Close()) })
	m.Reserve(nil)
	return m
}

// scanOf scans a set once.
func scanOf(t testing.TB, m *daemon.Member) {
	t.Helper()
	_, err := m.Scanned.Update(t.Context())
	must(t, err)
}

func parseServe(args []string) (*site.Config, error) {
	return parseSite("serve", kindOf("serve"), args)
}

func parseProxy(args []string) (*site.Config, error) {
	return parseSite("proxy", kindOf("proxy"), args)
}

// manyFiles is an environment variable with the number of files in benchmarks and in
// tests of attacks.
const manyFiles = "RESOURCESYNC_TEST_FILES"
