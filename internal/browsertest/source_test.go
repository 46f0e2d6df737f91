package browsertest_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/browsertest"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// contents are the bytes of all resources and of their versions.
type contents struct{}

func (contents) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	n, _ := r.Length.Bytes()
	return io.NopCloser(strings.NewReader(strings.Repeat("x", int(n)))), nil
}

func (c contents) OpenChange(ctx context.Context, change resourcesync.Change) (io.ReadCloser, error) {
	return c.Open(ctx, change.Resource)
}

// set returns a set whose n resources were created during the last three weeks, and in part
// updated and deleted since.
func set(t *testing.T, name string, n int, live *time.Time) *memory.Set {
	t.Helper()
	now := time.Now()
	at := now.Add(-21 * 24 * time.Hour)
	s := memory.New(&memory.Options{Now: func() time.Time {
		if !live.IsZero() {
			return time.Now()
		}
		return at
	}})
	step := now.Sub(at) / time.Duration(2*n)
	put := func(i, length int) {
		at = at.Add(step)
		err := s.Put(t.Context(), resourcesync.Resource{
			Key: fmt.Sprintf("%06d", i), URI: fmt.Sprintf("https://example.org/%s/%06d/article-%%C3%%BCber-%d.pdf", name, i, i*7919%1000),
			Length: resourcesync.Bytes(int64(length)), Type: "application/pdf", LastModified: at,
			Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%064x", i*length+1)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		put(i, 1000+i*i)
		if i%3 == 0 {
			put(i/2, 2000+i)
		}
		if i%29 == 28 {
			at = at.Add(step * 17)
			if err := s.Delete(t.Context(), fmt.Sprintf("%06d", i-11)); err != nil {
				t.Error(err)
			}
		}
	}
	return s
}

// start runs a Source, and returns its base URL.
func start(t *testing.T, opts rshttp.Options, sets ...rshttp.Set) (*rshttp.Source, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	site := "http://" + l.Addr().String()
	opts.Logger = slog.New(slog.DiscardHandler)
	src, err := rshttp.New(site+"/resourcesync/", sets, &opts)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: src}} //nolint:gosec // of a test
	server.Start()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- src.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	})
	return src, site
}

// TestPages looks at every kind of page.
func TestPages(t *testing.T) {
	var live time.Time
	papers, letters := set(t, "papers", 1200, &live), set(t, "letters", 40, &live)
	notes := memory.New(nil)
	for i := range 500 {
		key := fmt.Sprintf("%d/note-%03d.txt", 2000+i/50, i)
		if err := notes.Put(t.Context(), resourcesync.Resource{Key: key, URI: "https://example.org/notes/" + key, Length: resourcesync.Bytes(int64(i))}); err != nil {
			t.Fatal(err)
		}
	}
	sockets, err := websocket.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	about := rshttp.About{Title: "Example University Library", Description: "Papers, letters and notes of the library.", Contact: "library@example.org"}
	src, site := start(t, rshttp.Options{About: about, Division: rshttp.Division{PageSize: 300, PackageSize: 4 << 20, PackageEvery: time.Hour}, WebSocket: sockets, Hub: &hub.Options{}},
		rshttp.Set{Name: "papers", Provider: papers, Opener: contents{}, ChangeOpener: contents{}, RemoteHubs: []topic.RemoteHub{{URI: "http://127.0.0.1:1/hub"}}},
		rshttp.Set{Name: "letters", Provider: letters, Opener: contents{}, ChangeOpener: contents{}},
		rshttp.Set{Name: "notes", Provider: notes, About: rshttp.About{Title: "Reading notes", Description: "Notes of readers since 2000."}})
	one, _ := start(t, rshttp.Options{}, rshttp.Set{Provider: papers})
	base := site + "/resourcesync/"
	pages := []browsertest.Page{
		{Name: "source", URL: src.Page()},
		{Name: "source-of-one-set", URL: one.Page()},
		{Name: "notes", URL: base + "notes/capabilitylist.html"},
		{Name: "notes-index", URL: base + "notes/resourcelist.html"},
		{Name: "search", URL: base + "notes/resourcelist.html?begin=2003/"},
		{Name: "search-nothing", URL: base + "notes/resourcelist.html?begin=1999/"},
		{Name: "well-known", URL: site + "/.well-known/resourcesync"},
		{Name: "set", URL: base + "papers/capabilitylist.html"},
		{Name: "resourcelist-index", URL: base + "papers/resourcelist.html"},
		{Name: "resourcelist", URL: base + "letters/resourcelist.html"},
		{Name: "resourcelist-page", URL: part(t, base+"papers/resourcelist.xml")},
		{Name: "resourcedump", URL: base + "papers/resourcedump.html"},
		{Name: "resourcedump-manifest", URL: part(t, base+"letters/resourcedump.xml")},
		{Name: "changelist-index", URL: base + "papers/changelist.html"},
		{Name: "changelist-window", URL: part(t, base+"papers/changelist.xml")},
		{Name: "changelist-recent", URL: base + "papers/changelist/recent.html"},
		{Name: "changedump", URL: base + "papers/changedump.html"},
		{Name: "changedump-manifest", URL: part(t, base+"letters/changedump.xml")},
		{Name: "channel", URL: base + "papers/change.html"},
		{Name: "channel-framework", URL: base + "papers/framework.html"},
		{Name: "not-found", URL: base + "papers/changelist/20200101T000000.000000000Z.html"},
	}
	browsertest.Check(t, pages...)
}

// part returns the page of the first document that an index or a dump lists.
func part(t *testing.T, index string) string {
	t.Helper()
	res, err := http.Get(index) //nolint:gosec,noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "<loc>")
	if !found {
		t.Fatalf("%s lists nothing: %s", index, text)
	}
	uri, _, _ := strings.Cut(rest, "<")
	return uri[:strings.LastIndexByte(uri, '.')] + ".html"
}
