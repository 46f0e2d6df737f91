package rshttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
	"github.com/resourcesync-go/resourcesync/topic/websocket"
)

// observed returns Options whose answers are appended to a slice.
func observed(o rshttp.Options) (*rshttp.Options, *[]rshttp.Answer) {
	var all []rshttp.Answer
	o.Observe = func(a rshttp.Answer) { all = append(all, a) }
	return &o, &all
}

// TestObserve: each answer is reported once, as the client saw it.
func TestObserve(t *testing.T) {
	s := newShelf(t)
	s.put("a.txt", []byte("one"))
	s.put("b.txt", []byte("two"))
	opts, answers := observed(rshttp.Options{Sitemaps: rshttp.PlainSitemaps, Hub: &hub.Options{}})
	src := newSource(t, opts, rshttp.Set{Name: "papers", Provider: history{s}})
	const dir = "/resourcesync/papers/"
	const first = dir + "changedump/20260101T000001.000000000Z-20260101T000003.000000000Z"
	seal(t, s.Set)
	etag := get(t, src, dir+"changelist.xml").Header.Get("Etag")
	for _, tt := range []struct {
		method, path string
		header       []string
		want         string // document, set, status, and further properties
		until        int    // seconds after newYear
	}{
		{"GET", "/.well-known/resourcesync", nil, "description  200 complete", 0},
		{"GET", "/.well-known/resourcesync", nil, "description  200 complete cached", 0},
		{"GET", dir + "capabilitylist.xml", nil, "capabilitylist papers 200 complete", 0},
		{"POST", dir + "capabilitylist.xml", nil, "capabilitylist papers 405 complete", 0},
		{"GET", dir + "resourcelist.xml", nil, "resourcelist papers 200 complete", 3},
		{"GET", dir + "resourcelist.xml", nil, "resourcelist papers 200 complete cached", 3},
		{"HEAD", dir + "resourcelist.xml", nil, "resourcelist papers 200 complete cached", 0},
		{"GET", dir + "resourcelist/~Yg.xml", nil, "resourcelist-page papers 200 complete", 0},
		{"GET", dir + "resourcelist/~Yg~.xml", nil, "resourcelist-page papers 404 complete", 0},
		{"GET", dir + "sitemap.xml", nil, "sitemap papers 200 complete", 0},
		{"GET", dir + "changelist.xml", nil, "changelist papers 200 complete cached", 3},
		{"GET", dir + "changelist.xml", []string{"If-None-Match", etag}, "changelist papers 304 complete cached", 3},
		{"GET", dir + "changelist.xml", []string{"Accept-Encoding", "gzip"}, "changelist papers 200 complete cached", 3},
		{"GET", dir + "changelist/recent.xml", nil, "changelist-recent papers 200 complete", 3},
		{"GET", dir + "resourcedump.xml", nil, "resourcedump papers 200 complete", 0},
		{"GET", dir + "resourcedump/~.zip", nil, "resourcedump-package papers 200 complete", 0},
		{"GET", dir + "changedump.xml", nil, "changedump papers 200 complete", 0},
		{"GET", first + ".xml", nil, "changedump-manifest papers 200 complete", 3},
		{"GET", first + ".zip", nil, "changedump-package papers 200 complete", 3},
		{"GET", first + ".zip", []string{"Range", "bytes=10-"}, "changedump-package papers 206 complete", 3},
		{"GET", strings.Replace(first, "2026", "2025", 1) + ".zip", nil, "changedump-package papers 410 complete", 0},
		{"GET", dir + "change/", nil, "change-notification papers 200 complete", 0},
		{"POST", "/resourcesync/websub/", nil, "hub  415 complete", 0},
	} {
		*answers = nil
		res := do(t, src, tt.method, tt.path, tt.header...)
		body, err := io.ReadAll(res.Body)
		if err != nil || len(*answers) != 1 {
			t.Fatalf("%s %s: %d answers (%v)", tt.method, tt.path, len(*answers), err)
		}
		a := (*answers)[0]
		if got := inWords(a); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.method, tt.path, got, tt.want)
		}
		until := time.Time{}
		if tt.until > 0 {
			until = newYear.Add(time.Duration(tt.until) * time.Second)
		}
		if !a.Until.Equal(until) {
			t.Errorf("%s %s %v: until %s, want %s", tt.method, tt.path, tt.header, a.Until, until)
		}
		if a.Status != res.StatusCode || a.Bytes != int64(len(body)) || a.Duration <= 0 || a.Request.URL.Path != tt.path {
			t.Errorf("%s %s: %d with %d bytes was reported as %+v", tt.method, tt.path, res.StatusCode, len(body), a)
		}
	}
}

func inWords(a rshttp.Answer) string {
	words := []string{a.Document, a.Set, fmt.Sprint(a.Status)}
	for _, w := range []struct {
		is   bool
		name string
	}{{a.Index, "index"}, {a.HTML, "html"}, {a.Complete, "complete"}, {a.Cached, "cached"}} {
		if w.is {
			words = append(words, w.name)
		}
	}
	return strings.Join(words, " ")
}

// TestObservePage: an HTML page is reported as one at both of its URLs, also when it is
// answered 304.
func TestObservePage(t *testing.T) {
	opts, answers := observed(rshttp.Options{})
	src := newSource(t, opts, rshttp.Set{Provider: papers(t, "a")})
	get(t, src, "/resourcesync/capabilitylist.html")
	get(t, src, "/resourcesync/capabilitylist.xml", "Sec-Fetch-Dest", "document", "User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
	get(t, src, "/resourcesync/capabilitylist.html", "If-None-Match", "*")
	for i, want := range []string{"200 html complete", "200 html complete", "304 html complete"} {
		if got := inWords((*answers)[i]); got != "capabilitylist  "+want {
			t.Errorf("%d: got %q, want %q", i, got, want)
		}
	}
}

// TestObserveIndexes: an index covers no changes, and the parts that it lists do.
func TestObserveIndexes(t *testing.T) {
	opts, answers := observed(rshttp.Options{Division: rshttp.Division{PageSize: 2}})
	src := newSource(t, opts, rshttp.Set{Provider: papers(t, "a", "b", "c")})
	for _, path := range []string{"resourcelist.xml", "changelist.xml",
		"changelist/20260101T000000.000000000Z.xml", "changelist/20260101T000002.000000000Z.xml"} {
		get(t, src, "/resourcesync/"+path)
	}
	var got []string
	for _, a := range *answers {
		got = append(got, inWords(a))
		if a.Index != a.Until.IsZero() {
			t.Errorf("%s: index %t, until %s", a.Request.URL, a.Index, a.Until)
		}
	}
	want := []string{"resourcelist  200 index complete", "changelist  200 index complete", "changelist-window  200 complete", "changelist-window  200 complete"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := (*answers)[3].Until; !last.Equal(newYear.Add(3 * time.Second)) {
		t.Errorf("the open list ends at %s", last)
	}
	closed, open := (*answers)[2].Changes, (*answers)[3].Changes
	if !closed.From.Equal(newYear) || !closed.Until.Equal(newYear.Add(2*time.Second)) || !open.From.Equal(closed.Until) || !open.Open() || (*answers)[1].Changes != (resourcesync.Interval{}) {
		t.Errorf("closed %v, open %v, index %v", closed, open, (*answers)[1].Changes)
	}
	*answers = nil
	body := get(t, src, "/resourcesync/resourcelist.xml").Body
	index, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	next := ""
	for _, part := range regexp.MustCompile(`/resourcesync/resourcelist/[^<]+`).FindAllString(string(index), -1) {
		get(t, src, part)
		keys := (*answers)[len(*answers)-1].Keys
		if keys.From != next {
			t.Errorf("%s has the keys %q, after %q", part, keys, next)
		}
		next = keys.To
	}
	if next != "" || len(*answers) != 3 {
		t.Errorf("%d answers, up to %q", len(*answers), next)
	}
}

// A gone client fails every write.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestObserveAborted: an aborted response is reported as incomplete.
func TestObserveAborted(t *testing.T) {
	opts, answers := observed(rshttp.Options{})
	src := newSource(t, opts, rshttp.Set{Provider: papers(t, "a")})
	func() {
		defer func() {
			if err := recover(); err != http.ErrAbortHandler {
				t.Errorf("panic: %v", err)
			}
		}()
		src.ServeHTTP(gone{httptest.NewRecorder()}, httptest.NewRequest("GET", "/resourcesync/changelist.xml", nil))
	}()
	if len(*answers) != 1 || (*answers)[0].Complete || !(*answers)[0].Until.IsZero() {
		t.Errorf("got %+v", *answers)
	}
}

// TestObserveLeft: a response is incomplete if the client leaves before it, and complete
// if the client closes the connection as soon as it has everything.
func TestObserveLeft(t *testing.T) {
	opts, answers := observed(rshttp.Options{})
	src := newSource(t, opts, rshttp.Set{Provider: papers(t, "a"), Stater: waits{}})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	for _, path := range []string{"/resourcesync/changelist.xml", "/.well-known/resourcesync"} {
		src.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", path, nil))
	}
	want := []string{"changelist  503", "description  200 complete"}
	for i, a := range *answers {
		if inWords(a) != want[i] {
			t.Errorf("got %q, want %q", inWords(a), want[i])
		}
	}
}

// waits is a Stater that waits until the request has ended.
type waits struct{}

func (waits) Stat(ctx context.Context, _ resourcesync.Range) (resourcesync.Stat, error) {
	<-ctx.Done()
	return resourcesync.Stat{}, ctx.Err()
}

// TestObserveOthers: requests for the application, and WebSockets, are not observed.
func TestObserveOthers(t *testing.T) {
	feed, err := websocket.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	opts, answers := observed(rshttp.Options{WebSocket: feed})
	src := newSource(t, opts, rshttp.Set{Provider: memory.New(nil)})
	app := src.Wrap(http.NotFoundHandler())
	get(t, app, "/elsewhere")
	get(t, app, "/resourcesync/elsewhere.xml")
	get(t, app, "/resourcesync/change/websocket")
	if len(*answers) != 0 {
		t.Errorf("got %+v", *answers)
	}
}

// TestObserveAddress: an observer sees who sent a request.
func TestObserveAddress(t *testing.T) {
	var got string
	src := newSource(t, &rshttp.Options{Observe: func(a rshttp.Answer) { got = a.Request.UserAgent() + " " + a.Request.RemoteAddr }},
		rshttp.Set{Provider: tableOf(1), Require: []resourcesync.Capability{resourcesync.ResourceList}})
	r := httptest.NewRequest("GET", "/resourcesync/resourcelist.xml", nil)
	r.Header.Set("User-Agent", "resync/2.0")
	r.RemoteAddr = "192.0.2.1:1234"
	src.ServeHTTP(httptest.NewRecorder(), r)
	if got != "resync/2.0 192.0.2.1:1234" {
		t.Errorf("got %q", got)
	}
}
