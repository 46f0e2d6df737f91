package rshttp_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
	"github.com/resourcesync-go/resourcesync/topic/topiclog"
)

// fakeFeed is a Feed that answers with the topic requested.
type fakeFeed struct{}

func (fakeFeed) Clients() int { return 0 }

func (fakeFeed) Run(ctx context.Context, _ topiclog.Log) error { <-ctx.Done(); return nil }

func (fakeFeed) ServeTopic(w http.ResponseWriter, r *http.Request, topic string) {
	fmt.Fprint(w, "feed of ", topic)
}

// TestRS22_Advertised: a Capability List has an entry for each channel, and one only.
func TestRS22_Advertised(t *testing.T) {
	hubs := []topic.RemoteHub{{URI: "https://hub.example.net/"}, {URI: "https://hub.example.com/websub?a=1&b=2"}}
	for _, tt := range []struct {
		name string
		base string
		set  rshttp.Set
		feed topic.Feed
		want string
	}{
		{"hubs", pushBase, rshttp.Set{Provider: memory.New(nil), RemoteHubs: hubs}, nil, `<url>
<loc>https://example.org/resourcesync/change/</loc>
<rs:md capability="change-notification"/>
<rs:ln rel="hub" href="https://hub.example.net/"/>
<rs:ln rel="hub" href="https://hub.example.com/websub?a=1&amp;b=2"/>
</url>
<url>
<loc>https://example.org/resourcesync/framework/</loc>
<rs:md capability="framework-notification"/>
<rs:ln rel="hub" href="https://hub.example.net/"/>
<rs:ln rel="hub" href="https://hub.example.com/websub?a=1&amp;b=2"/>
</url>
`},
		{"no journal", pushBase, rshttp.Set{Name: "papers", Provider: tableOf(1), RemoteHubs: hubs[:1]}, nil, `<url>
<loc>https://example.org/resourcesync/papers/framework/</loc>
<rs:md capability="framework-notification"/>
<rs:ln rel="hub" href="https://hub.example.net/"/>
</url>
`},
		{"WebSocket", "http://example.org/", rshttp.Set{Provider: memory.New(nil)}, fakeFeed{}, `<url>
<loc>ws://example.org/change/websocket</loc>
<rs:md capability="change-notification"/>
</url>
<url>
<loc>ws://example.org/framework/websocket</loc>
<rs:md capability="framework-notification"/>
</url>
`},
		{"both", pushBase, rshttp.Set{Name: "papers", Provider: tableOf(1), RemoteHubs: hubs[:1]}, fakeFeed{}, `<url>
<loc>https://example.org/resourcesync/papers/framework/</loc>
<rs:md capability="framework-notification"/>
<rs:ln rel="hub" href="https://hub.example.net/"/>
<rs:ln rel="alternate" href="wss://example.org/resourcesync/papers/framework/websocket"/>
</url>
`},
		{"neither", pushBase, rshttp.Set{Provider: memory.New(nil)}, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src, err := rshttp.New(tt.base, []rshttp.Set{tt.set}, &rshttp.Options{WebSocket: tt.feed, Store: storeOf(pushlog.NewMemory()), Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			path := strings.TrimPrefix(strings.TrimPrefix(tt.base, "https://example.org"), "http://example.org")
			if tt.set.Name != "" {
				path += tt.set.Name + "/"
			}
			list := text(t, get(t, src, path+"capabilitylist.xml"))
			_, after, _ := strings.Cut(list, "changelist.xml</loc>")
			if after == "" {
				_, after, _ = strings.Cut(list, "resourcelist.xml</loc>")
			}
			_, after, _ = strings.Cut(after, "</url>\n")
			if got := strings.TrimSuffix(after, "</urlset>\n"); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if _, _, err := rsxml.Decode(strings.NewReader(list)); err != nil {
				t.Error(err)
			}
			if shared := os.Getenv("RESOURCESYNC_SHARED"); shared != "" {
				validate(t, filepath.Join(shared, "schema"))([]byte(list), false)
			}
		})
	}
}

// TestChannelPaths: a channel takes only its own paths from an application, and only if
// it exists.
func TestChannelPaths(t *testing.T) {
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "app") })
	hubs := []topic.RemoteHub{{URI: "https://hub.example.net/"}}
	o := &rshttp.Options{WebSocket: fakeFeed{}}
	both := newSource(t, o, rshttp.Set{Name: "a", Provider: memory.New(nil), RemoteHubs: hubs},
		rshttp.Set{Name: "b", Provider: tableOf(1)}).Wrap(app)
	none := newSource(t, nil, rshttp.Set{Name: "a", Provider: memory.New(nil)}).Wrap(app)
	for path, want := range map[string]string{
		"/resourcesync/a/change/":              "",
		"/resourcesync/a/framework/":           "",
		"/resourcesync/a/change/websocket":     "feed of https://example.org/resourcesync/a/change/",
		"/resourcesync/a/framework/websocket":  "feed of https://example.org/resourcesync/a/framework/",
		"/resourcesync/b/framework/websocket":  "feed of https://example.org/resourcesync/b/framework/",
		"/resourcesync/b/framework/":           "app", // no hubs
		"/resourcesync/b/change/":              "app",
		"/resourcesync/b/change/websocket":     "app", // no journal
		"/resourcesync/c/change/":              "app",
		"/resourcesync/a/change":               "app",
		"/resourcesync/a/change//":             "app",
		"/resourcesync/a/b/change/":            "app",
		"/resourcesync/change/":                "app",
		"/change/":                             "app",
		"/a/change/":                           "app",
		"/resourcesync/a/x/websocket":          "app",
		"/resourcesync/a/change/websocket/":    "app",
		"/resourcesync/a/exchange/":            "app",
		"/resourcesync/a/framework/index.html": "app",
	} {
		res := get(t, both, path)
		if got := text(t, res); got != want || res.StatusCode != 200 {
			t.Errorf("%s: %s %q, want %q", path, res.Status, got, want)
		}
		if got := text(t, get(t, none, path)); got != "app" {
			t.Errorf("%s without channels: %q", path, got)
		}
	}
	src := newSource(t, nil, rshttp.Set{Name: "a", Provider: memory.New(nil)})
	if status, err := src.PushStatus(t.Context()); err != nil || len(status.Topics) != 0 {
		t.Errorf("a Source without channels has the status %+v, %v", status, err)
	}
}

// TestPushNeeds: New refuses options that cannot work.
func TestPushNeeds(t *testing.T) {
	hub := topic.RemoteHub{URI: "https://hub.example.net/"}
	for what, try := range map[string]struct {
		set rshttp.Set
		o   rshttp.Options
	}{
		"a hub that is no URI":         {rshttp.Set{RemoteHubs: []topic.RemoteHub{{URI: "hub"}}}, rshttp.Options{}},
		"a hub twice":                  {rshttp.Set{RemoteHubs: []topic.RemoteHub{hub, hub}}, rshttp.Options{}},
		"wrong options":                {rshttp.Set{RemoteHubs: []topic.RemoteHub{hub}}, rshttp.Options{Push: topic.Options{Flush: -1}}},
		"a channel without hub":        {rshttp.Set{Require: []resourcesync.Capability{resourcesync.FrameworkNotification}}, rshttp.Options{}},
		"a change channel, no journal": {rshttp.Set{Provider: tableOf(1), RemoteHubs: []topic.RemoteHub{hub}, Require: []resourcesync.Capability{resourcesync.ChangeNotification}}, rshttp.Options{}},
	} {
		if try.set.Provider == nil {
			try.set.Provider = memory.New(nil)
		}
		try.o.Logger = quiet()
		if _, err := rshttp.New(base, []rshttp.Set{try.set}, &try.o); err == nil {
			t.Error("taken: " + what)
		}
	}
	ok := rshttp.Set{Provider: memory.New(nil), RemoteHubs: []topic.RemoteHub{hub}, Require: []resourcesync.Capability{resourcesync.ChangeNotification, resourcesync.FrameworkNotification}}
	if _, err := rshttp.New(base, []rshttp.Set{ok}, &rshttp.Options{Logger: quiet()}); err != nil {
		t.Error(err)
	}
}
