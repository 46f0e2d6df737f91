package publisher

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/linkheader"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// docs/requirements.md names the tests of each requirement.

// hub starts a hub that responds with answer.
func hub(t *testing.T, answer func(w http.ResponseWriter, n int)) (*recorder, topic.RemoteHub) {
	t.Helper()
	h := newRecorder(answer)
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, topic.RemoteHub{URI: server.URL + "/websub/"}
}

// get requests the latest notification of a topic.
func get(t *testing.T, p *Publisher, method, topic string, header http.Header) *http.Response {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.ServeTopic(w, r, topic) }))
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func body(t *testing.T, resp *http.Response) string {
	t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// targets returns the targets of the links of a header, by relation type. There must be
// one header field.
func targets(t *testing.T, h http.Header) map[string][]string {
	t.Helper()
	if n := len(h["Link"]); n != 1 {
		t.Errorf("%d Link header fields, want 1: %q", n, h["Link"])
	}
	out := map[string][]string{}
	for _, l := range linkheader.Parse(h["Link"]...) {
		out[l.Rel] = append(out[l.Rel], l.Target)
	}
	return out
}

func wantLinks(t *testing.T, h http.Header, hubs ...topic.RemoteHub) {
	t.Helper()
	var uris []string
	for _, hub := range hubs {
		uris = append(uris, hub.URI)
	}
	got := targets(t, h)
	if !slices.Equal(got["self"], []string{changeTopic}) || !slices.Equal(got["hub"], uris) ||
		!slices.Equal(got["resourcesync"], []string{capabilityList}) || len(got) != 3 {
		t.Errorf("Link: %q", h["Link"])
	}
}

// TestWP1_WP2_WP3_RS4_topic requests a topic without notifications, with one hub and
// with several.
func TestWP1_WP2_WP3_RS4_topic(t *testing.T) {
	hubs := []topic.RemoteHub{{URI: "https://hub.example.net/"}, {URI: "https://other.example.net/websub?for=us"}}
	for n := 1; n <= 2; n++ {
		p, err := New(pushlog.NewMemory(), []Channel{changeChannel(memory.New(nil), hubs[:n]...)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			resp := get(t, p, method, changeTopic, nil)
			if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/xml" {
				t.Errorf("%s: %s, %s", method, resp.Status, resp.Header.Get("Content-Type"))
			}
			if got := resp.Header["Content-Length"]; !slices.Equal(got, []string{"0"}) || resp.ContentLength != 0 { // RS5
				t.Errorf("%s: Content-Length %q, want 0", method, got)
			}
			wantLinks(t, resp.Header, hubs[:n]...)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			resp := get(t, p, method, changeTopic, nil)
			if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s: %s, Allow %q", method, resp.Status, resp.Header.Get("Allow"))
			}
		}
		if resp := get(t, p, http.MethodGet, frameworkTopic, nil); resp.StatusCode != http.StatusNotFound {
			t.Errorf("another topic: %s", resp.Status)
		}
	}
}

// TestWP4_linksInHeaderAlone: a topic is never served as a feed, even to a client that prefers
// one. Its document has no links to itself and to hubs, because they could differ from the
// links of the header.
func TestWP4_linksInHeaderAlone(t *testing.T) {
	h, hub := hub(t, nil)
	set, outbox := memory.New(nil), pushlog.NewMemory()
	p, _ := run(t, outbox, []Channel{changeChannel(set, hub)}, nil)
	begun(t, outbox, changeTopic)
	put(t, set, 1)
	latest := h.wait(t, 1)[0].body
	for _, accept := range []string{"application/atom+xml", "application/rss+xml", "application/rdf+xml;q=0.9, */*;q=0.1"} {
		resp := get(t, p, http.MethodGet, changeTopic, http.Header{"Accept": {accept}})
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/xml" {
			t.Errorf("%s: %s, %s", accept, resp.Status, resp.Header.Get("Content-Type"))
		}
		wantLinks(t, resp.Header, hub)
		if got := body(t, resp); got != string(latest) {
			t.Errorf("%s: %s", accept, got)
		}
	}
	head, entries := decode(t, latest)
	if len(head.Links) != 1 || head.Links[0].Rel != resourcesync.RelUp || len(entries) != 1 || len(entries[0].Links) != 0 {
		t.Errorf("the document links to %+v and %+v", head.Links, entries)
	}
}

// TestWP8_topicsStay: topics never redirect, because Change Notification 4.1 requires 200. When
// a site has moved, its topics have other URIs, and the old ones do not exist.
func TestWP8_topicsStay(t *testing.T) {
	c := changeChannel(memory.New(nil), topic.RemoteHub{URI: "https://hub.example.net/"})
	p, err := New(pushlog.NewMemory(), []Channel{c}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for topic, want := range map[string]int{
		changeTopic:                                http.StatusOK,
		strings.TrimSuffix(changeTopic, "/"):       http.StatusNotFound,
		changeTopic + "/":                          http.StatusNotFound,
		changeTopic + "?":                          http.StatusNotFound,
		strings.Replace(changeTopic, "s:", ":", 1): http.StatusNotFound,
		strings.ToUpper(changeTopic):               http.StatusNotFound,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			// get follows redirects. This checks the response itself.
			w := httptest.NewRecorder()
			p.ServeTopic(w, httptest.NewRequestWithContext(t.Context(), method, "/", nil), topic)
			if w.Code != want || w.Header().Get("Location") != "" {
				t.Errorf("%s %s: %d, Location %q", method, topic, w.Code, w.Header().Get("Location"))
			}
		}
	}
}

// TestRS5_latest requests the latest notification of a topic.
func TestRS5_latest(t *testing.T) {
	h, hub := hub(t, nil)
	set, outbox := memory.New(nil), pushlog.NewMemory()
	p, _ := run(t, outbox, []Channel{changeChannel(set, hub)}, &topic.Options{Flush: 10 * time.Millisecond})
	begun(t, outbox, changeTopic)
	var etags []string
	for n := 1; n <= 3; n++ {
		put(t, set, n)
		want := string(h.wait(t, n)[n-1].body)
		resp := get(t, p, http.MethodGet, changeTopic, nil)
		if got := body(t, resp); got != want {
			t.Errorf("GET: %s\nwant %s", got, want)
		}
		wantLinks(t, resp.Header, hub)
		head := get(t, p, http.MethodHead, changeTopic, nil)
		if head.ContentLength != int64(len(want)) || head.Header.Get("ETag") != resp.Header.Get("ETag") {
			t.Errorf("HEAD: %v", head.Header)
		}
		etags = append(etags, resp.Header.Get("ETag"))
		again := get(t, p, http.MethodGet, changeTopic, http.Header{"If-None-Match": {strings.Join(etags, ", ")}})
		if again.StatusCode != http.StatusNotModified || again.Header.Get("Link") == "" || body(t, again) != "" {
			t.Errorf("If-None-Match: %s", again.Status)
		}
		if n > 1 {
			old := get(t, p, http.MethodGet, changeTopic, http.Header{"If-None-Match": {etags[0]}})
			if old.StatusCode != http.StatusOK {
				t.Errorf("If-None-Match of the first: %s", old.Status)
			}
		}
	}
}

// TestOneRepresentation: the response of a topic does not depend on what the client prefers.
// Package rshttp sends browsers a page instead, before this package sees the request.
func TestOneRepresentation(t *testing.T) {
	h, hub := hub(t, nil)
	set, outbox := memory.New(nil), pushlog.NewMemory()
	p, _ := run(t, outbox, []Channel{changeChannel(set, hub)}, nil)
	begun(t, outbox, changeTopic)
	put(t, set, 1)
	want := string(h.wait(t, 1)[0].body)
	for _, header := range []http.Header{
		{"Accept": {"text/html"}}, {"Accept-Language": {"de"}}, {"Accept-Encoding": {"gzip"}},
	} {
		resp := get(t, p, http.MethodGet, changeTopic, header)
		if got := body(t, resp); got != want || resp.Header.Get("Content-Type") != "application/xml" || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%v: %v\n%s", header, resp.Header, got)
		}
	}
}

// TestWP7_RS6_informsHubs: there is one POST per notification and hub, with the links
// of that hub, and the bytes in the outbox.
func TestWP7_RS6_informsHubs(t *testing.T) {
	a, hubA := hub(t, nil)
	b, hubB := hub(t, func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusAccepted) })
	hubB.URI += "?for=us&too"
	set, outbox := memory.New(nil), keeping{pushlog.NewMemory()}
	run(t, outbox, []Channel{changeChannel(set, hubA, hubB)}, &topic.Options{Flush: 10 * time.Millisecond})
	begun(t, outbox, changeTopic)
	for n := range 3 {
		put(t, set, n)
		a.wait(t, n+1)
	}
	kept, err := outbox.Read(t.Context(), changeTopic, 0, 10, 1<<30)
	if err != nil || len(kept) != 3 {
		t.Fatalf("%d notifications, %v", len(kept), err)
	}
	for h, hub := range map[*recorder]topic.RemoteHub{a: hubA, b: hubB} {
		posts := h.wait(t, 3)
		for i, post := range posts {
			if post.method != http.MethodPost || !slices.Equal(post.header["Content-Type"], []string{"application/xml"}) {
				t.Errorf("%s %v", post.method, post.header)
			}
			if string(post.body) != string(kept[i].Body) {
				t.Errorf("notification %d: %s\nwant %s", i+1, post.body, kept[i].Body)
			}
			wantLinks(t, post.header, hub)
		}
	}
}

// TestRS7_success: only 2xx is success.
func TestRS7_success(t *testing.T) {
	for status, want := range map[int]string{
		200: "taken", 201: "taken", 202: "taken", 204: "taken",
		300: "again", 301: "again", 302: "again", 307: "again", 308: "again", 304: "again",
		400: "refused", 401: "refused", 403: "refused", 404: "refused", 410: "refused", 413: "refused", 422: "refused",
		408: "again", 425: "again", 429: "again",
		500: "again", 501: "again", 502: "again", 503: "again", 504: "again",
	} {
		h, hub := hub(t, func(w http.ResponseWriter, _ int) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		p, err := New(pushlog.NewMemory(), []Channel{changeChannel(memory.New(nil), hub)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := pushlog.Notification{Topic: changeTopic, CapabilityList: capabilityList, Body: []byte("<urlset/>")}
		failed := p.send(t.Context(), &hub, &n)
		got := "again"
		if failed == nil {
			got = "taken"
		} else if failed.final {
			got = "refused"
		}
		if got != want || len(h.all()) != 1 {
			t.Errorf("%d: %s after %d requests, %+v; want %s", status, got, len(h.all()), failed, want)
		}
	}
}

// TestRS8_verifiedSource: a third-party hub accepts notifications of a registered Source only, and
// compares the links of each POST with the links of the topic, by HEAD and GET.
func TestRS8_verifiedSource(t *testing.T) {
	set, outbox := memory.New(nil), pushlog.NewMemory()
	site := httptest.NewUnstartedServer(nil)
	third := &verifyingHub{t: t, registered: "http://" + site.Listener.Addr().String() + "/topic/", accepted: make(chan string, 1)}
	server := httptest.NewServer(third)
	t.Cleanup(server.Close)
	third.uri = server.URL + "/websub/"
	c := changeChannel(set, topic.RemoteHub{URI: third.uri})
	c.Topic = third.registered
	other := changeChannel(memory.New(nil), topic.RemoteHub{URI: third.uri})
	other.Topic = "http://" + site.Listener.Addr().String() + "/unregistered/"
	p, _ := run(t, outbox, []Channel{c, other}, &topic.Options{Flush: 10 * time.Millisecond})
	site.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.ServeTopic(w, r, "http://"+r.Host+r.URL.Path)
	})
	site.Start()
	t.Cleanup(site.Close)
	begun(t, outbox, c.Topic)
	begun(t, outbox, other.Topic)
	put(t, set, 1)
	if body := <-third.accepted; !strings.Contains(body, resource(1).URI) {
		t.Errorf("accepted: %s", body)
	}
	n := pushlog.Notification{Topic: other.Topic, CapabilityList: capabilityList, Body: []byte("<urlset/>")}
	if failed := p.send(t.Context(), &topic.RemoteHub{URI: third.uri}, &n); failed == nil || !failed.final {
		t.Errorf("a topic that is not registered: %+v", failed)
	}
}

// A verifyingHub accepts the notifications of one topic, if the Source adheres to Change
// Notification 4.1.
type verifyingHub struct {
	t               *testing.T
	registered, uri string
	accepted        chan string
}

func (v *verifyingHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if l := linksOf(r.Header); l["self"] != v.registered || l["hub"] != v.uri {
		http.Error(w, "not registered", http.StatusForbidden)
		return
	}
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		ask, err := http.NewRequestWithContext(r.Context(), method, v.registered, nil)
		if err != nil {
			v.t.Error(err)
			return
		}
		res, err := http.DefaultClient.Do(ask)
		if err != nil {
			v.t.Error(err)
			return
		}
		_ = res.Body.Close()
		if l := linksOf(res.Header); res.StatusCode != http.StatusOK || l["self"] != v.registered || l["hub"] != v.uri {
			v.t.Errorf("%s of the topic: %s %v", method, res.Status, res.Header)
			http.Error(w, "not verified", http.StatusForbidden)
			return
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		v.t.Error(err)
	}
	v.accepted <- string(body)
}

// linksOf returns the target of the last link of each relation.
func linksOf(h http.Header) map[string]string {
	out := make(map[string]string)
	for _, l := range linkheader.Parse(h["Link"]...) {
		out[l.Rel] = l.Target
	}
	return out
}

// TestRS9_RS10_RS13_changeNotification checks the head of a notification and its
// changes, in the order of time.
func TestRS9_RS10_RS13_changeNotification(t *testing.T) {
	h, hub := hub(t, nil)
	set, outbox := memory.New(nil), pushlog.NewMemory()
	run(t, outbox, []Channel{changeChannel(set, hub)}, &topic.Options{Flush: 300 * time.Millisecond})
	state := begun(t, outbox, changeTopic)
	put(t, set, 1)
	h.wait(t, 1)
	put(t, set, 3, 2)
	put(t, set, 1)
	if err := set.Delete(t.Context(), resource(3).Key); err != nil {
		t.Error(err)
	}
	first, firstEntries := decode(t, h.wait(t, 2)[0].body)
	second, entries := decode(t, h.wait(t, 2)[1].body)
	for _, head := range []rsxml.Head{first, second} {
		m := head.Metadata
		if head.Index || m.Capability != resourcesync.ChangeNotification || m.From.IsZero() || !m.Until.After(m.From) {
			t.Errorf("%+v", head)
		}
		if len(head.Links) != 1 || head.Links[0].Rel != "up" || head.Links[0].Href != capabilityList { // RS13
			t.Errorf("links %v", head.Links)
		}
	}
	if !first.Metadata.From.Equal(state.Until) || !second.Metadata.From.Equal(first.Metadata.Until) {
		t.Errorf("from %v until %v, then from %v; the channel began at %v", first.Metadata.From, first.Metadata.Until, second.Metadata.From, state.Until)
	}
	if len(firstEntries) != 1 || len(entries) != 4 {
		t.Fatalf("%d and %d entries", len(firstEntries), len(entries))
	}
	for i, want := range []struct {
		n      int
		change resourcesync.ChangeType
	}{{3, resourcesync.Created}, {2, resourcesync.Created}, {1, resourcesync.Updated}, {3, resourcesync.Deleted}} { // RS10
		e := entries[i]
		if e.Loc != resource(want.n).URI || e.Metadata.Change != want.change || e.Metadata.Datetime.IsZero() {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}

// TestRS12_sequence splits a very large number of changes into a sequence of urlset
// documents.
func TestRS12_sequence(t *testing.T) {
	h, hub := hub(t, nil)
	set, outbox := memory.New(nil), pushlog.NewMemory()
	run(t, outbox, []Channel{changeChannel(set, hub)}, &topic.Options{Flush: time.Hour})
	state := begun(t, outbox, changeTopic)
	var ns []int
	for n := range 5000 {
		ns = append(ns, n)
	}
	put(t, set, ns...) // seen at once, and so told in five notifications, without waiting
	from, n := state.Until, 0
	for _, post := range h.wait(t, 5) {
		head, entries := decode(t, post.body)
		if head.Index || len(entries) != 1000 || !head.Metadata.From.Equal(from) {
			t.Errorf("%d entries from %v, want 1000 from %v", len(entries), head.Metadata.From, from)
		}
		for _, e := range entries {
			if e.Loc != resource(n).URI {
				t.Fatalf("entry %s, want %s", e.Loc, resource(n).URI)
			}
			n++
		}
		from = head.Metadata.Until
	}
}

// TestRS12_frameworkWithoutIndex: a Framework Notification of many documents is a urlset, too.
func TestRS12_frameworkWithoutIndex(t *testing.T) {
	t.Parallel()
	h, hub := hub(t, nil)
	d, outbox := &documents{}, pushlog.NewMemory()
	run(t, outbox, []Channel{frameworkChannel(d, hub)}, nil)
	begun(t, outbox, frameworkTopic)
	var locs []string
	for n := range 1000 {
		locs = append(locs, fmt.Sprintf("list/%d.xml", n))
	}
	d.set(nil, update(capabilityList, locs...))
	body := h.wait(t, 1)[0].body
	head, entries := decode(t, body)
	if head.Index || len(entries) != 1000 || !strings.Contains(string(body), "<urlset") {
		t.Errorf("%d entries, index: %t", len(entries), head.Index)
	}
}
