package rshttp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic"
)

const pushBase = "https://example.org/resourcesync/"

func putOne(t *testing.T, set *memory.Set, key string) {
	t.Helper()
	if err := set.Put(t.Context(), resourcesync.Resource{Key: key, URI: "https://example.org/papers/" + key, Stamp: time.Now().String(), LastModified: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

// TestRS1_ChannelsApart: each set has two channels of its own, and each channel carries
// notifications of its kind only.
func TestRS1_ChannelsApart(t *testing.T) {
	t.Parallel()
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

// TestRS2_SeveralSets: a change of a resource in several sets is sent on the change
// channel of each.
func TestRS2_SeveralSets(t *testing.T) {
	t.Parallel()
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
// updated on all three framework channels, and the channels of the other two sets carry nothing
// else. When the third set is removed, it is announced on all three again.
func TestRS3_DescriptionOnEveryChannel(t *testing.T) {
	t.Parallel()
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

// TestRS4_RS5_Topic checks the response of a topic, before the first notification and
// after.
func TestRS4_RS5_Topic(t *testing.T) {
	t.Parallel()
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
	// A browser gets a page with the same status and links.
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

// TestWP5_WP6_TopicPage: each response with status 200 at the URL of a topic has the links of the
// topic in its header, also if a browser gets its page. The page itself has none, and neither has
// its own URL.
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

// TestWP8_TopicsStay: neither topics nor URLs that look like topics redirect.
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

// TestRS6_Submission checks the request that a hub gets.
func TestRS6_Submission(t *testing.T) {
	t.Parallel()
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
