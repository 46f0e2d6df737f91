package rshttp_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic"
)

const pushBase = "https://example.org/resourcesync/"

func putOne(t *testing.T, set *memory.Set, key string) {
	t.Helper()
	if err := set.Put(t.Context(), resourcesync.Resource{Key: key, URI: "https://example.org/papers/" + key, Stamp: time.Now().String(), LastModified: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// TestRS1_ChannelsApart: each set has two channels of its own, and what is sent on
// each is of its kind alone.
func TestRS1_ChannelsApart(t *testing.T) {
	h := newHubServer(t)
	hubs := []topic.RemoteHub{{URI: h.uri}}
	a, b := memory.New(nil), memory.New(nil)
	_, stop := pushed(t, rshttp.Options{}, rshttp.Set{Name: "a", Provider: a, RemoteHubs: hubs}, rshttp.Set{Name: "b", Provider: b, RemoteHubs: hubs})
	begun(t, h, "a/")
	begun(t, h, "b/")
	putOne(t, a, "1")
	putOne(t, b, "2")
	until(t, "changes on both channels", func() bool {
		return len(h.on("/a/change/")) > 0 && len(h.on("/b/change/")) > 0 && len(h.on("/a/framework/")) > 3 && len(h.on("/b/framework/")) > 3
	})
	stop()
	topics := map[string]int{}
	for _, p := range h.on("") {
		topics[p.self]++
		want := resourcesync.FrameworkNotification
		if strings.HasSuffix(p.self, "/change/") {
			want = resourcesync.ChangeNotification
		}
		if p.head.Metadata.Capability != want {
			t.Errorf("%s: %s", p.self, p.head.Metadata.Capability)
		}
		other := "/b/"
		if strings.Contains(p.self, "/b/") {
			other = "/a/"
		}
		if strings.Contains(p.body, "resourcesync"+other) {
			t.Errorf("%s has changes of the other set:\n%s", p.self, p.body)
		}
	}
	if len(topics) != 4 {
		t.Errorf("topics: %v", topics)
	}
	if !slices.Equal(h.told("/a/change/"), []string{"created papers/1"}) || !slices.Equal(h.told("/b/change/"), []string{"created papers/2"}) {
		t.Errorf("told: %q and %q", h.told("/a/change/"), h.told("/b/change/"))
	}
}

// TestRS2_SeveralSets: a change of a resource in several sets is told on the change
// channel of each.
func TestRS2_SeveralSets(t *testing.T) {
	h := newHubServer(t)
	hubs := []topic.RemoteHub{{URI: h.uri}}
	papers := memory.New(nil)
	pushed(t, rshttp.Options{}, rshttp.Set{Name: "all", Provider: papers, RemoteHubs: hubs}, rshttp.Set{Name: "new", Provider: papers, RemoteHubs: hubs})
	begun(t, h, "all/")
	begun(t, h, "new/")
	putOne(t, papers, "1")
	until(t, "the change on both channels", func() bool {
		return slices.Equal(h.told("/all/change/"), []string{"created papers/1"}) && slices.Equal(h.told("/new/change/"), []string{"created papers/1"})
	})
}

// TestRS3_DescriptionOnEveryChannel: with a third set, the Source Description is announced as
// updated on all three framework channels, and nothing else on those of the other two. Without it,
// it is announced on all three again.
func TestRS3_DescriptionOnEveryChannel(t *testing.T) {
	h := newHubServer(t)
	hubs := []topic.RemoteHub{{URI: h.uri}}
	set := func(name string) rshttp.Set {
		return rshttp.Set{Name: name, Provider: memory.New(nil), RemoteHubs: hubs}
	}
	a, b, c := set("a"), set("b"), set("c")
	outbox := pushlog.NewMemory()
	_, stop := pushed(t, rshttp.Options{Store: storeOf(outbox)}, a, b)
	begun(t, h, "a/")
	begun(t, h, "b/")
	stop()
	const news = "updated .well-known/resourcesync"
	sent := make(map[string]bool) // a hub may get one again that it had taken when the Source ended
	fresh := func(name string) (told []string) {
		for _, p := range h.on("/" + name + "/framework/") {
			for _, e := range p.entries {
				if !sent[p.self+p.body] {
					told = append(told, string(e.Metadata.Change)+" "+strings.TrimPrefix(e.Loc, "https://example.org/"))
				}
			}
		}
		return slices.Compact(told)
	}
	for _, sets := range [][]rshttp.Set{{a, b, c}, {a, b}} {
		for _, p := range h.on("") {
			sent[p.self+p.body] = true
		}
		_, stop = pushed(t, rshttp.Options{Store: storeOf(outbox)}, sets...)
		until(t, news+" on every channel", func() bool {
			return slices.Contains(fresh("a"), news) && slices.Contains(fresh("b"), news) && slices.Contains(fresh("c"), news)
		})
		stop()
		for _, name := range []string{"a", "b"} {
			if told := fresh(name); !slices.Equal(told, []string{news}) {
				t.Errorf("%s: %q", name, told)
			}
		}
	}
}

// TestRS4_RS5_Topic: what a topic answers, before the first notification and after.
func TestRS4_RS5_Topic(t *testing.T) {
	h := newHubServer(t)
	other := newHubServer(t)
	papers := memory.New(nil)
	src, _ := pushed(t, rshttp.Options{}, rshttp.Set{Name: "papers", Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}, {URI: other.uri}}})
	check := func(path, body string) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := do(t, src, method, path)
			got, l := text(t, res), links(t, res.Header)
			if method == http.MethodHead && got != "" || method == http.MethodGet && got != body {
				t.Errorf("%s %s: %q, want %q", method, path, got, body)
			}
			if res.StatusCode != 200 || !slices.Equal(res.Header["Content-Type"], []string{"application/xml"}) ||
				!slices.Equal(res.Header["Content-Length"], []string{fmt.Sprint(len(body))}) || len(res.Header["Link"]) != 1 {
				t.Errorf("%s %s: %s %v", method, path, res.Status, res.Header)
			}
			if !slices.Equal(l["self"], []string{"https://example.org" + path}) || !slices.Equal(l["hub"], []string{h.uri, other.uri}) ||
				!slices.Equal(l["resourcesync"], []string{pushBase + "papers/capabilitylist.xml"}) {
				t.Errorf("%s %s: %v", method, path, l)
			}
		}
		if res := do(t, src, http.MethodPost, path); res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %s %v", path, res.Status, res.Header)
		}
	}
	// A browser gets a page, with the same status and links.
	page := func(path string) {
		t.Helper()
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := do(t, src, method, path, browser...)
			l := links(t, res.Header)
			if res.StatusCode != 200 || res.Header.Get("Content-Type") != pageHTML || !strings.Contains(res.Header.Get("Vary"), "Accept, Sec-Fetch-Dest") ||
				!slices.Equal(l["self"], []string{"https://example.org" + path}) || !slices.Equal(l["hub"], []string{h.uri, other.uri}) {
				t.Errorf("%s %s by a browser: %s %v", method, path, res.Status, res.Header)
			}
		}
	}
	begun(t, h, "")
	check("/resourcesync/papers/change/", "")
	page("/resourcesync/papers/change/")
	putOne(t, papers, "1")
	until(t, "a change", func() bool { return len(h.on("/change/")) == 1 })
	check("/resourcesync/papers/change/", h.on("/change/")[0].body)
	until(t, "the latest Framework Notification at its topic", func() bool {
		all := h.on("/framework/")
		return text(t, get(t, src, "/resourcesync/papers/framework/")) == all[len(all)-1].body && strings.Contains(all[len(all)-1].body, "updated")
	})
	all := h.on("/framework/")
	check("/resourcesync/papers/framework/", all[len(all)-1].body)
	page("/resourcesync/papers/framework/")
}

// TestWP5_WP6_TopicPage: each 200 at the URL of a topic has the links of the topic in its header,
// also if a browser gets its page. The page itself has none, and neither has its own URL.
func TestWP5_WP6_TopicPage(t *testing.T) {
	const hub = "https://hub.example.net/"
	src := newSource(t, nil, rshttp.Set{Name: "papers", Provider: memory.New(nil), RemoteHubs: []topic.RemoteHub{{URI: hub}}})
	for _, channel := range []string{"change", "framework"} {
		path := "/resourcesync/papers/" + channel + "/"
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := do(t, src, method, path, browser...)
			if l := links(t, res.Header); res.StatusCode != 200 || res.Header.Get("Content-Type") != pageHTML || len(res.Header["Link"]) != 1 ||
				!slices.Equal(l["self"], []string{"https://example.org" + path}) || !slices.Equal(l["hub"], []string{hub}) {
				t.Errorf("%s %s: %s %v", method, path, res.Status, res.Header)
			}
			if html := text(t, res); strings.Contains(html, `rel="hub"`) || strings.Contains(html, `rel="self"`) {
				t.Errorf("%s %s has links of the topic: %s", method, path, html)
			}
			res = do(t, src, method, "/resourcesync/papers/"+channel+".html", browser...)
			if res.StatusCode != 200 || len(res.Header["Link"]) != 0 {
				t.Errorf("%s %s.html: %s %v", method, channel, res.Status, res.Header)
			}
		}
	}
	if res := get(t, src, "/resourcesync/papers/capabilitylist.xml", browser...); len(links(t, res.Header)["self"]) != 0 {
		t.Errorf("another page: %v", res.Header)
	}
}

// TestWP8_TopicsStay: no topic redirects, and neither does what looks like one.
func TestWP8_TopicsStay(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Name: "papers", Provider: memory.New(nil), RemoteHubs: []topic.RemoteHub{{URI: "https://hub.example.net/"}}})
	for path, want := range map[string]int{
		"/resourcesync/papers/change/":    200,
		"/resourcesync/papers/framework/": 200,
		"/resourcesync/papers/change":     404,
		"/resourcesync/papers/change//":   404,
		"/resourcesync//papers/change/":   404,
		"/resourcesync/./papers/change/":  404,
		"/resourcesync/Papers/change/":    404,
		"/resourcesync/books/change/":     404,
		"/resourcesync/change/":           404,
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			if res := do(t, src, method, path); res.StatusCode != want || res.Header.Get("Location") != "" {
				t.Errorf("%s %s: %s, Location %q", method, path, res.Status, res.Header.Get("Location"))
			}
		}
	}
}

// TestRS6_Submission: what a hub is sent.
func TestRS6_Submission(t *testing.T) {
	h := newHubServer(t)
	papers := memory.New(nil)
	pushed(t, rshttp.Options{}, rshttp.Set{Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
	begun(t, h, "")
	putOne(t, papers, "1")
	until(t, "a change", func() bool { return len(h.on("/change/")) > 0 })
	for _, p := range h.on("") {
		l := links(t, p.header)
		topic := pushBase + "framework/"
		if p.head.Metadata.Capability == resourcesync.ChangeNotification {
			topic = pushBase + "change/"
		}
		if p.method != http.MethodPost || !slices.Equal(p.header["Content-Type"], []string{"application/xml"}) ||
			!slices.Equal(l["self"], []string{topic}) || !slices.Equal(l["hub"], []string{h.uri}) ||
			!slices.Equal(l["resourcesync"], []string{pushBase + "capabilitylist.xml"}) {
			t.Errorf("%s %v", p.method, p.header)
		}
	}
}

// recorder is a log that remembers what was appended to it.
type recorder struct {
	pushlog.Log

	mu    sync.Mutex
	added map[string][]string // bodies by topic
	asked int                 // how often for the state of a topic
}

func (r *recorder) Append(ctx context.Context, n pushlog.Notification, before, next pushlog.State) error {
	err := r.Log.Append(ctx, n, before, next)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.added[n.Topic] = append(r.added[n.Topic], string(n.Body))
	}
	return err
}

func (r *recorder) State(ctx context.Context, uri string) (pushlog.State, error) {
	r.mu.Lock()
	r.asked++
	r.mu.Unlock()
	return r.Log.State(ctx, uri)
}

func (r *recorder) see() (added map[string][]string, asked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.added), r.asked
}

// TestPushRestart: a Source that begins again with the same outbox neither makes a
// notification again nor leaves anything out.
func TestPushRestart(t *testing.T) {
	h := newHubServer(t)
	papers := memory.New(nil)
	outbox := &recorder{Log: pushlog.NewMemory(), added: map[string][]string{}}
	begin := func() func() {
		_, stop := pushed(t, rshttp.Options{Store: storeOf(outbox)}, rshttp.Set{Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
		return stop
	}
	const changes, framework = pushBase + "change/", pushBase + "framework/"
	stop := begin()
	begun(t, h, "")
	var want []string
	for i := range 12 {
		switch i % 4 {
		case 1:
			stop()
		case 3:
			stop = begin()
		}
		putOne(t, papers, fmt.Sprint(i))
		want = append(want, fmt.Sprintf("created papers/%d", i))
	}
	until(t, "all changes", func() bool { return slices.Contains(h.told("/change/"), want[len(want)-1]) })
	announced := func() bool {
		stat, err := papers.Stat(t.Context(), resourcesync.Range{})
		return err == nil && slices.ContainsFunc(h.on("/framework/"), func(p post) bool {
			return p.entries[len(p.entries)-1].Metadata.Datetime.Equal(stat.LastModified)
		})
	}
	until(t, "the state at the end", announced)
	stop()
	made, before := outbox.see()

	var told []string
	var end time.Time
	for _, body := range made[changes] {
		head, entries, err := rsxml.Decode(strings.NewReader(body))
		if err != nil || !end.IsZero() && !head.Metadata.From.Equal(end) {
			t.Errorf("from %v after until %v: %v", head.Metadata.From, end, err)
		}
		end = head.Metadata.Until
		for _, e := range entries {
			told = append(told, string(e.Metadata.Change)+" "+strings.TrimPrefix(e.Loc, "https://example.org/"))
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("changes told: %q", told)
	}
	if n := strings.Count(strings.Join(made[framework], ""), `change="created"`); n != 4 {
		t.Errorf("%d documents were created, of 4:\n%s", n, made[framework])
	}
	// The hub may get one again that it was sent when the Source ended, and the server of the hub
	// may be so slow that it takes the first of the two after the next one.
	for uri, bodies := range made {
		var got []string
		for _, p := range h.on(strings.TrimPrefix(uri, pushBase)) {
			got = append(got, p.body)
		}
		if got = withoutRepetitions(got); !slices.Equal(got, bodies) {
			t.Errorf("%s: the hub got %d different notifications of %d", uri, len(got), len(bodies))
		}
	}

	stop = begin()
	until(t, "the publisher at work", func() bool {
		_, asked := outbox.see()
		return asked >= before+2
	})
	// A repetition would come before this change, or with it.
	putOne(t, papers, "last")
	const last = "created papers/last"
	until(t, "the last change", func() bool { return slices.Contains(h.told("/change/"), last) })
	until(t, "the state after it", announced)
	stop()
	again, _ := outbox.see()
	for uri, bodies := range made {
		if n := len(bodies); len(again[uri]) != n+1 || !slices.Equal(again[uri][:n], bodies) {
			t.Errorf("%s: %d notifications became %d after a restart and one change", uri, n, len(again[uri]))
		}
	}
	if told := withoutRepetitions(h.told("/change/")); !slices.Equal(told, append(want, last)) {
		t.Errorf("changes told after a restart: %q", told)
	}
}

// withoutRepetitions returns the first of equal values in list.
func withoutRepetitions(list []string) (firsts []string) {
	for _, s := range list {
		if !slices.Contains(firsts, s) {
			firsts = append(firsts, s)
		}
	}
	return firsts
}

// TestPushProviders: sets with few upgrades are pushed as far as they can be.
func TestPushProviders(t *testing.T) {
	needs.Time(t)
	all := memory.New(nil)
	bare := tableOf(1)
	for name, tt := range map[string]struct {
		set    rshttp.Set
		change func()
		want   []string // on the change channel
		list   string   // on the framework channel
	}{
		"everything": {rshttp.Set{Provider: all}, func() { putOne(t, all, "1") }, []string{"created papers/1"}, "resourcelist.xml"},
		"no Stater": {rshttp.Set{Provider: plain{all}, Changer: struct {
			resourcesync.Changer
			resourcesync.Windower
		}{all, all}}, func() { putOne(t, all, "2") }, []string{"created papers/2"}, "changelist.xml"},
		"no Stater, but a Watcher": {rshttp.Set{Provider: plain{all}, Watcher: all, Changer: struct {
			resourcesync.Changer
			resourcesync.Windower
		}{all, all}}, func() { putOne(t, all, "3") }, []string{"created papers/3"}, "changelist.xml"},
		"no Changer": {rshttp.Set{Provider: plain{all}, Stater: all}, func() { putOne(t, all, "4") }, nil, "resourcelist.xml"},
		"one method": {rshttp.Set{Provider: bare}, func() { bare.put("zz", time.Now()) }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHubServer(t)
			tt.set.RemoteHubs = []topic.RemoteHub{{URI: h.uri}}
			src, _ := pushed(t, rshttp.Options{}, tt.set)
			begun(t, h, "")
			if tt.want != nil {
				until(t, "the change channel has begun", func() bool {
					status, err := src.PushStatus(t.Context())
					return err == nil && slices.ContainsFunc(status.Topics, func(s topic.TopicStatus) bool { return !s.Until.IsZero() })
				})
			}
			tt.change()
			until(t, "the changes", func() bool { return slices.Equal(h.told("/change/"), tt.want) })
			if tt.list != "" { // without a Stater the Resource List is looked at once a minute
				until(t, tt.list, func() bool { return slices.Contains(h.told("/framework/"), "updated resourcesync/"+tt.list) })
			}
		})
	}
}

// plain is a provider without its upgrades.
type plain struct{ resourcesync.Provider }

// TestPushStatus: what a hub does not take is to be seen.
func TestPushStatus(t *testing.T) {
	h := newHubServer(t)
	h.answers(http.StatusInternalServerError)
	papers := memory.New(nil)
	src, _ := pushed(t, rshttp.Options{}, rshttp.Set{Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
	until(t, "a failure", func() bool {
		status, err := src.PushStatus(t.Context())
		return err == nil && slices.ContainsFunc(status.Topics, func(s topic.TopicStatus) bool {
			return s.Topic == pushBase+"framework/" && len(s.Hubs) == 1 && s.Hubs[0].Failures > 0 && s.Hubs[0].Behind > 0
		})
	})
	h.answers(0)
	begun(t, h, "")
	if err := src.Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestPushWaits: a set that is not ready is not told of, and no change is told that
// was there before it was.
func TestPushWaits(t *testing.T) {
	h := newHubServer(t)
	papers := memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	pushed(t, rshttp.Options{}, rshttp.Set{Name: "later", Provider: papers, RemoteHubs: []topic.RemoteHub{{URI: h.uri}}},
		rshttp.Set{Name: "now", Provider: memory.New(nil), RemoteHubs: []topic.RemoteHub{{URI: h.uri}}})
	until(t, "what there is of the other set", func() bool { return len(h.told("/now/framework/")) == 4 })
	if told := h.told("/later/framework/"); len(told) > 0 {
		t.Errorf("told: %q", told)
	}
	listing := func(yield func(resourcesync.Resource, error) bool) { yield(resource("1"), nil) }
	if _, err := papers.Scan(t.Context(), listing); err != nil {
		t.Fatal(err)
	}
	begun(t, h, "later/")
	until(t, "a change that is told", func() bool {
		putOne(t, papers, "2")
		return len(h.told("/later/change/")) > 0
	})
	if told := h.told("/later/change/"); slices.ContainsFunc(told, func(s string) bool { return strings.HasSuffix(s, "/1") }) {
		t.Errorf("told: %q", told)
	}
}
