package destination_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A pushScript is a Source whose documents and notifications are written by hand. NOW+n in
// them stands for a time n seconds after the first minute of the last hour.
type pushScript struct {
	*script
	url      string
	messages chan string  // to the WebSocket of changes
	news     chan string  // to that of documents
	lists    atomic.Int64 // requests for the Change List
	found    atomic.Int64 // requests for the Source Description
}

var pushSource = map[string]string{
	"/.well-known/resourcesync": fullSource["/.well-known/resourcesync"],
	"/cl.xml": openURLSet + `<rs:md capability="capabilitylist"/>
		<url><loc>BASE/rl.xml</loc><rs:md capability="resourcelist"/></url>
		<url><loc>BASE/chl.xml</loc><rs:md capability="changelist"/></url>
		<url><loc>WSBASE/changes</loc><rs:md capability="change-notification"/></url></urlset>`,
	"/rl.xml":  openURLSet + `<rs:md capability="resourcelist" at="NOW+0"/><url><loc>BASE/a</loc></url></urlset>`,
	"/chl.xml": openURLSet + `<rs:md capability="changelist" from="NOW+0"/></urlset>`,
	"/a":       "a", "/b": "b", "/c": "c",
}

func newPushScript(t *testing.T) *pushScript {
	p := &pushScript{script: &script{pages: make(map[string]string)}, messages: make(chan string), news: make(chan string)}
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	p.url = serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/resourcesync":
			p.found.Add(1)
		case "/chl.xml":
			p.lists.Add(1)
		case "/changes":
			push(w, r, p.messages, done)
			return
		case "/news":
			push(w, r, p.news, done)
			return
		}
		p.ServeHTTP(w, r)
	}).URL
	p.set(pushSource)
	return p
}

func push(w http.ResponseWriter, r *http.Request, messages chan string, done chan struct{}) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	ctx := conn.CloseRead(context.Background())
	for {
		select {
		case text := <-messages:
			if conn.Write(ctx, websocket.MessageText, []byte(text)) != nil {
				return
			}
		case <-ctx.Done():
			return
		case <-done:
			return
		}
	}
}

// pushBegin is the time NOW+0. It is never midnight, because a from at midnight may stand for the
// whole day.
var pushBegin = time.Now().Add(-time.Hour).Truncate(time.Hour).Add(time.Minute)

// expand replaces the placeholders for times and URLs.
func (p *pushScript) expand(text string) string {
	for i := 99; i >= 0; i-- {
		text = strings.ReplaceAll(text, fmt.Sprint("NOW+", i), pushBegin.Add(time.Duration(i)*time.Second).UTC().Format(time.RFC3339))
	}
	text = strings.ReplaceAll(text, "WSBASE", "ws"+strings.TrimPrefix(p.url, "http"))
	return strings.ReplaceAll(text, "BASE", p.url)
}

func (p *pushScript) set(pages map[string]string) {
	expanded := make(map[string]string)
	for name, text := range pages {
		expanded[name] = p.expand(text)
	}
	p.script.set(expanded)
}

// notice is a Change Notification with changes of the form "updated a NOW+1".
func notice(from, until string, changes ...string) string {
	return openURLSet + fmt.Sprintf(`<rs:md capability="change-notification" from=%q until=%q/>`, from, until) + changesText(changes) + `</urlset>`
}

func changeList(changes ...string) string {
	return openURLSet + `<rs:md capability="changelist" from="NOW+0"/>` + changesText(changes) + `</urlset>`
}

func changesText(changes []string) string {
	var b strings.Builder
	for _, c := range changes {
		f := strings.Fields(c)
		fmt.Fprintf(&b, `<url><loc>BASE/%s</loc><rs:md change=%q datetime=%q/></url>`, f[1], f[0], f[2])
	}
	return b.String()
}

// TestNotifications has Change Notifications with and without gaps, late ones, and invalid
// ones.
func TestNotifications(t *testing.T) {
	t.Parallel()
	first := notice("NOW+0", "NOW+10", "updated a NOW+5")
	for name, test := range map[string]struct {
		messages []string
		pages    map[string]string
		reads    bool // the Change List is read
		want     map[string]string
	}{
		"in order": {[]string{first, notice("NOW+10", "NOW+20", "created b NOW+15"), notice("NOW+20", "NOW+30", "deleted a NOW+30")},
			nil, false, map[string]string{"b": "b"}},
		"a gap": {[]string{first, notice("NOW+20", "NOW+30", "created c NOW+25")},
			map[string]string{"/chl.xml": changeList("updated a NOW+5", "created b NOW+15", "created c NOW+25")}, true, map[string]string{"a": "A", "b": "b", "c": "c"}},
		"out of order": {[]string{notice("NOW+10", "NOW+20", "deleted a NOW+15"), first},
			map[string]string{"/chl.xml": changeList("updated a NOW+5", "deleted a NOW+15", "created b NOW+16")}, true, map[string]string{"b": "b"}},
		"repeated": {[]string{first, notice("NOW+10", "NOW+20", "deleted a NOW+15"), first, notice("NOW+20", "NOW+30", "created b NOW+25")},
			nil, false, map[string]string{"b": "b"}},
		"no times": {[]string{openURLSet + `<url><loc>BASE/b</loc><rs:md change="created"/></url></urlset>`},
			map[string]string{"/chl.xml": changeList("created b NOW+5")}, true, map[string]string{"a": "a", "b": "b"}},
		"no XML": {[]string{"changes!"},
			map[string]string{"/chl.xml": changeList("created b NOW+5")}, true, map[string]string{"a": "a", "b": "b"}},
		"broken off": {[]string{strings.TrimSuffix(first, "</urlset>")},
			map[string]string{"/chl.xml": changeList("created b NOW+5")}, true, map[string]string{"a": "a", "b": "b"}},
		"too long": {[]string{strings.Repeat(" ", 5<<20)},
			map[string]string{"/chl.xml": changeList("created b NOW+5")}, true, map[string]string{"a": "a", "b": "b"}},
		"a time in the future": {[]string{strings.Replace(first, "NOW+10", "2999-01-01T00:00:00Z", 1), notice("2999-01-01T00:00:00Z", "NOW+20", "created b NOW+15")},
			nil, false, map[string]string{"a": "A", "b": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPushScript(t)
			dir, before := p.follow(t)
			p.set(map[string]string{"/a": "A"})
			p.set(test.pages)
			for _, text := range test.messages {
				p.messages <- p.expand(text)
			}
			p.await(t, dir, test.want)
			if !test.reads {
				time.Sleep(100 * time.Millisecond)
				if p.lists.Load() != before {
					t.Error("the Change List was read")
				}
				return
			}
			for deadline := time.Now().Add(needs.Patience); p.lists.Load() == before; time.Sleep(5 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the Change List was not read")
				}
			}
		})
	}
}

// follow follows the Source until the test ends. It returns when the WebSocket is connected and
// the Change List has been read because of that, with the number of requests for it.
func (p *pushScript) follow(t *testing.T) (dir string, lists int64) {
	t.Helper()
	return p.followBy(t, destination.FollowOptions{})
}

// followBy is follow, with options.
func (p *pushScript) followBy(t *testing.T, o destination.FollowOptions) (dir string, lists int64) {
	t.Helper()
	m := openMirror(t, p.url, t.TempDir(), &destination.Options{Allow: loopback})
	var before atomic.Int64
	o.Every = time.Hour
	o.Report = func(*destination.Report, error) { before.CompareAndSwap(0, p.lists.Load()) }
	m.follow(t, o)
	for deadline := time.Now().Add(needs.Patience); before.Load() == 0 || p.lists.Load() == before.Load(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the channel is not connected")
		}
	}
	return m.dir, before.Load() + 1
}

func (p *pushScript) await(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	for deadline := time.Now().Add(needs.Patience); !maps.Equal(files(t, dir), want); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the copy has %v, want %v", files(t, dir), want)
		}
	}
}

// TestStaleChangeList has a cache before the Source: after a gap, the Change List still lacks
// the missed change.
func TestStaleChangeList(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	p := newPushScript(t)
	dir, before := p.follow(t)
	p.messages <- p.expand(notice("NOW+20", "NOW+30", "created c NOW+25"))
	p.await(t, dir, map[string]string{"a": "a", "c": "c"})
	for p.lists.Load() == before {
		time.Sleep(10 * time.Millisecond)
	}
	p.set(map[string]string{"/chl.xml": changeList("created b NOW+15", "created c NOW+25")})
	p.await(t, dir, map[string]string{"a": "a", "b": "b", "c": "c"})
}

// TestFrameworkNotification has a Capability List that names another list.
func TestFrameworkNotification(t *testing.T) {
	t.Parallel()
	framework := func(capability string) string {
		return openURLSet + `<rs:md capability="framework-notification"/><url><loc>BASE/x.xml</loc><rs:md change="updated" capability="` + capability + `"/></url></urlset>`
	}
	both := strings.Replace(pushSource["/cl.xml"], "</urlset>", `<url><loc>BASE/framework/</loc><rs:md capability="framework-notification"/>
		<rs:ln rel="hub" href="BASE/hub"/><rs:ln rel="alternate" href="WSBASE/news"/></url></urlset>`, 1)
	p := newPushScript(t)
	p.set(map[string]string{"/cl.xml": both})
	dir, _ := p.follow(t)
	p.set(map[string]string{
		"/cl.xml":   strings.Replace(both, "/chl.xml", "/chl2.xml", 1),
		"/chl2.xml": changeList("created b NOW+15"),
	})
	found := p.found.Load()
	p.news <- p.expand(framework("changelist"))
	time.Sleep(100 * time.Millisecond)
	if p.found.Load() != found {
		t.Error("the Source was discovered again because of a Change List")
	}
	p.news <- p.expand(framework("capabilitylist"))
	p.await(t, dir, map[string]string{"a": "a", "b": "b"})
}
