package destination_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/internal/subscriber"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

// sharedSource has two sets with one channel, at a hub and as a WebSocket.
func sharedSource(hub string) map[string]string {
	capabilities := func(n string) string {
		return openURLSet + `<rs:md capability="capabilitylist"/>
			<url><loc>BASE/rl` + n + `.xml</loc><rs:md capability="resourcelist"/></url>
			<url><loc>BASE/chl` + n + `.xml</loc><rs:md capability="changelist"/></url>
			<url><loc>BASE/topic</loc><rs:md capability="change-notification"/>
			<rs:ln rel="hub" href="` + hub + `"/><rs:ln rel="alternate" href="WSBASE/changes"/></url></urlset>`
	}
	return map[string]string{
		"/.well-known/resourcesync": openURLSet + `<rs:md capability="description"/><url><loc>BASE/cl.xml</loc></url><url><loc>BASE/cl2.xml</loc></url></urlset>`,
		"/cl.xml":                   capabilities(""),
		"/cl2.xml":                  capabilities("2"),
		"/rl2.xml":                  openURLSet + `<rs:md capability="resourcelist" at="NOW+0"/><url><loc>BASE/b</loc></url></urlset>`,
		"/chl2.xml":                 changeList(),
		"/topic":                    `<BASE/topic>; rel="self", <` + hub + `>; rel="hub"` + "\nLINK\n",
	}
}

// upTo addresses a notification to a set.
func upTo(set, notice string) string {
	return strings.Replace(notice, "<rs:md", `<rs:ln rel="up" href="BASE/`+set+`.xml"/><rs:md`, 1)
}

// TestSharedChannel has two sets that share a channel, which no Source should have. It is
// followed once. A notification is for the set that it links to; without a link, the Change
// Lists say what has changed.
func TestSharedChannel(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		messages []string
		pages    map[string]string
		reads    bool
		want     map[string]string
	}{
		"with links": {[]string{
			upTo("cl", notice("NOW+0", "NOW+20", "updated a NOW+5")),
			upTo("cl2", notice("NOW+0", "NOW+10", "created c NOW+7")),
			upTo("cl", notice("NOW+20", "NOW+30", "deleted a NOW+25")),
		}, nil, false, map[string]string{"b": "b", "c": "c"}},
		"without links": {[]string{notice("NOW+0", "NOW+10", "updated a NOW+5")},
			map[string]string{"/chl.xml": changeList("updated a NOW+5"), "/chl2.xml": changeList("created c NOW+7")}, true, map[string]string{"a": "A", "b": "b", "c": "c"}},
	} {
		for _, way := range []string{"WebSub", "WebSocket"} {
			t.Run(way+" "+name, func(t *testing.T) {
				t.Parallel()
				p := newPushScript(t)
				hub := newRelay(t, p.url+"/topic")
				p.set(sharedSource(hub.URL + "/"))
				send := func(text string) { p.messages <- text }
				var o destination.FollowOptions
				var callbacks atomic.Int64
				if way == "WebSub" {
					send = func(text string) { hub.publish(t, p.url+"/topic", text) }
					o.Callback = newCallback(t, func(next http.Handler) http.Handler {
						return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
							if r.URL.Query().Get("hub.mode") == "subscribe" {
								callbacks.Add(1)
							}
							next.ServeHTTP(w, r)
						})
					})
				}
				dir, before := p.followBy(t, o)
				p.set(map[string]string{"/a": "A"})
				p.set(test.pages)
				for _, text := range test.messages {
					send(p.expand(text))
				}
				p.await(t, dir, test.want)
				time.Sleep(100 * time.Millisecond)
				if reads := p.lists.Load() > before; reads != test.reads {
					t.Errorf("the Change List was read: %t", reads)
				}
				if n := callbacks.Load(); way == "WebSub" && n != 1 {
					t.Errorf("%d subscriptions to the topic", n)
				}
			})
		}
	}
}

// A relay is a hub that receives notifications from elsewhere.
type relay struct{ *httptest.Server }

func newRelay(t *testing.T, uri string) *relay {
	t.Helper()
	to := &subscriber.Relay{Log: pushlog.NewMemory(), Token: "token"}
	server := httptest.NewServer(to)
	t.Cleanup(server.Close)
	h, err := hub.New(server.URL+"/", logtest.Seal(to.Log), &hub.Options{AllowCallbacks: loopback, Retry: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	h.Register(uri)
	to.Hub = h
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ran := make(chan error)
	go func() { ran <- h.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ran })
	return &relay{server}
}

// publish posts a notification as a Source does.
func (r *relay) publish(t *testing.T, uri, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/xml")
	req.Header.Set("Authorization", "Bearer token")
	req.Header.Set("Link", "<"+uri+`>; rel="self"`)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the hub answers %s", res.Status)
	}
}
