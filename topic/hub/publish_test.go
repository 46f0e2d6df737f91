package hub

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/topic"
)

const testToken = "t0ken-of-the-publisher"

// notify posts n as a publisher outside does, with changes to the request.
func (f *front) notify(n topic.Notification, changes ...func(*http.Request)) (status int, text string) {
	f.t.Helper()
	r, err := http.NewRequest(http.MethodPost, f.url, bytes.NewReader(n.Body))
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/xml")
	r.Header.Set("Authorization", "Bearer "+testToken)
	r.Header.Set("Link", "<"+n.Topic+`> ; rel="self", <`+testHub+`> ; rel="hub", <`+n.CapabilityList+`> ; rel="resourcesync"`)
	for _, change := range changes {
		change(r)
	}
	return f.do(r)
}

// published returns what is in the log of testTopic.
func (f *front) published() []Message {
	f.t.Helper()
	ms, err := f.store.Messages(f.t.Context(), testTopic, 0, 100, 1<<30)
	if err != nil {
		f.t.Fatal(err)
	}
	return ms
}

// RS7: exactly 200. What is delivered are the bytes that came.
func TestRS7_Publish(t *testing.T) {
	f := newFront(t, Options{Token: testToken})
	n := example(t)
	for range 2 {
		if status, text := f.notify(n); status != 200 {
			t.Fatal(status, text)
		}
	}
	ms := f.published()
	if len(ms) != 1 {
		t.Fatalf("%d messages of one notification sent twice", len(ms))
	}
	m := ms[0]
	if !bytes.Equal(m.Body, n.Body) || m.ContentType != "application/xml" ||
		m.Links != `<`+testTopic+`>; rel="self", <https://example.org/capabilitylist.xml>; rel="resourcesync"` {
		t.Errorf("message %+v", m)
	}
	n.Body = bytes.Replace(n.Body, []byte("astrolabe"), []byte("quadrant"), 1)
	if status, text := f.notify(n); status != 200 || len(f.published()) != 2 {
		t.Errorf("%d %s: %d messages", status, text, len(f.published()))
	}
}

// What is not published.
func TestV11_V13_NotPublished(t *testing.T) {
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	document := func(edit func(string) string) func(*topic.Notification) {
		return func(n *topic.Notification) { n.Body = []byte(edit(string(n.Body))) }
	}
	replace := func(old, new string) func(*topic.Notification) {
		return document(func(s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("there is no %s", old)
			}
			return strings.ReplaceAll(s, old, new)
		})
	}
	self, hub := `<`+testTopic+`>; rel="self"`, `<`+testHub+`>; rel="hub"`
	for _, c := range []struct {
		name   string
		status int
		header func(*http.Request)
		edit   func(*topic.Notification)
	}{
		{"no token", 401, func(r *http.Request) { r.Header.Del("Authorization") }, nil},
		{"wrong token", 401, header("Authorization", "Bearer t0ken"), nil},
		{"longer token", 401, header("Authorization", "Bearer "+testToken+"x"), nil},
		{"other scheme", 401, header("Authorization", "Basic "+testToken), nil},
		{"only the token", 401, header("Authorization", testToken), nil},
		{"no links", 403, func(r *http.Request) { r.Header.Del("Link") }, nil},
		{"no self", 403, header("Link", hub), nil},
		{"two selves", 403, header("Link", self+", "+self+", "+hub), nil},
		{"foreign topic", 403, header("Link", `<https://example.com/>; rel="self", `+hub), nil},
		{"self of elsewhere", 403, header("Link", self+`; anchor="https://example.com/", `+hub), nil},
		{"no hub", 400, header("Link", self), nil},
		{"foreign hub", 400, header("Link", self+`, <https://hub.example.com/>; rel="hub"`), nil},
		{"two lists", 400, header("Link", self+", "+hub+`, <https://a.example/>; rel="resourcesync", <https://b.example/>; rel="resourcesync"`), nil},
		{"relative list", 400, header("Link", self+", "+hub+`, </list>; rel="resourcesync"`), nil},
		{"media type", 415, header("Content-Type", "text/xml"), nil},
		{"media type of a kind", 415, header("Content-Type", "application/atom+xml"), nil},
		{"charset", 415, header("Content-Type", "application/xml; charset=utf-16"), nil},
		{"gzip", 415, header("Content-Encoding", "gzip"), nil},
		{"empty", 400, nil, document(func(string) string { return "" })},
		{"cut off", 400, nil, document(func(s string) string { return s[:len(s)-12] })},
		{"no XML", 400, nil, document(func(string) string { return "change!" })},
		{"DTD", 400, nil, replace("<urlset", "<!DOCTYPE urlset><urlset")},
		{"entities", 400, nil, replace("<urlset", `<!DOCTYPE urlset [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset`)},
		{"root", 400, nil, replace("urlset", "sitemapindex")},
		{"other root", 400, nil, replace("urlset", "html")},
		{"capability", 400, nil, replace("change-notification", "changelist")},
		{"no interval", 400, nil, replace(` until="2025-04-21T00:10:00.000000Z"`, "")},
		{"no change type", 400, nil, replace(`change="updated" `, "")},
		{"no location", 400, nil, replace("<loc>https://museum.example.org/objects/sextant</loc>", "")},
		{"no capability", 400, nil, replace(`capability="change-notification"`, "")},
		{"too long", 413, nil, document(func(s string) string { return s + strings.Repeat(" ", MaxMessage) })},
	} {
		f := newFront(t, Options{Token: testToken})
		n := example(t)
		if c.edit != nil {
			c.edit(&n)
		}
		if c.header == nil {
			c.header = func(*http.Request) {}
		}
		if status, text := f.notify(n, c.header); status != c.status || text == "" {
			t.Errorf("%s: %d %s; want %d", c.name, status, text, c.status)
		}
		if len(f.published()) != 0 {
			t.Errorf("%s: it was published", c.name)
		}
	}
}

// V11: without a token nobody publishes from outside, with whatever they send.
func TestV11_NoToken(t *testing.T) {
	f := newFront(t, Options{})
	for _, token := range []string{"Bearer ", "Bearer", "Bearer " + testToken, ""} {
		status, text := f.notify(example(t), func(r *http.Request) { r.Header.Set("Authorization", token) })
		if status != 403 {
			t.Errorf("%q: %d %s", token, status, text)
		}
	}
	if len(f.published()) != 0 {
		t.Error("it was published")
	}
}

// Media types may have a charset, links may be in several headers and may have
// been written by others.
func TestPublishVariants(t *testing.T) {
	n := example(t)
	for name, change := range map[string]func(*http.Request){
		"charset": func(r *http.Request) { r.Header.Set("Content-Type", "application/xml; charset=UTF-8") },
		"case":    func(r *http.Request) { r.Header.Set("Authorization", "bearer "+testToken) },
		"headers": func(r *http.Request) {
			r.Header["Link"] = []string{`<` + testHub + `>;rel=hub`, `<https://hub2.example/>; rel=hub`, `<` + testTopic + `>;rel=SELF`}
		},
	} {
		f := newFront(t, Options{Token: testToken})
		if status, text := f.notify(n, change); status != 200 || len(f.published()) != 1 {
			t.Errorf("%s: %d %s, %d messages", name, status, text, len(f.published()))
		}
	}
}

// V12: nothing is fetched because somebody says so.
func TestV12_Ping(t *testing.T) {
	f, s := newFront(t, Options{Token: testToken}), newSubscriber(t)
	for _, params := range [][]string{{"hub.mode", "publish", "hub.url", s.URL}, {"hub.mode", "publish", "hub.topic", s.URL}, {"hub.mode", "publish"}} {
		if status, text := f.post(s.URL, params...); status != 400 || !strings.Contains(text, "application/xml") {
			t.Errorf("%v: %d %s", params, status, text)
		}
	}
	if got := s.requests(); len(got) != 0 {
		t.Errorf("fetched %q", got)
	}
}

// What the Source of the same process submits.
func TestSubmit(t *testing.T) {
	f := idleFront(t, Options{})
	n := example(t)
	for range 2 {
		if err := f.Submit(t.Context(), n); err != nil {
			t.Fatal(err)
		}
	}
	if ms := f.published(); len(ms) != 1 || !bytes.Equal(ms[0].Body, n.Body) {
		t.Errorf("messages %+v", ms)
	}
	var refused *topic.RefusedError
	for name, n := range map[string]topic.Notification{
		"unknown topic": {Topic: "https://example.com/", Body: n.Body},
		"empty":         {Topic: testTopic},
		"too long":      {Topic: testTopic, Body: make([]byte, MaxMessage+1)},
	} {
		if err := f.Submit(t.Context(), n); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// pipes is a net.Listener of connections in memory, which end in time in a
// bubble too.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// V16: a body that does not come takes a connection for a bounded time, although
// the server has no time-outs of its own.
func TestV16_SlowBodies(t *testing.T) {
	for name, c := range map[string]struct {
		header string
		within time.Duration
	}{
		"form":         {"Content-Type: application/x-www-form-urlencoded\r\n", formTime},
		"notification": {"Content-Type: application/xml\r\nAuthorization: Bearer " + testToken + "\r\nLink: <" + testTopic + ">; rel=self, <" + testHub + ">; rel=hub\r\n", messageTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, err := New(testHub, NewMemoryStore(), &Options{Token: testToken})
				if err != nil {
					t.Fatal(err)
				}
				h.Register(testTopic)
				listener, server := make(pipes, 1), &http.Server{Handler: h, ErrorLog: discardLog}
				ended := make(chan error)
				go func() { ended <- server.Serve(listener) }()
				near, far := net.Pipe()
				listener <- far
				before := time.Now()
				go near.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n" + c.header + "\r\nhub.mode"))
				answer := make([]byte, 100)
				n, err := near.Read(answer)
				if err != nil || !bytes.HasPrefix(answer[:n], []byte("HTTP/1.1 400")) {
					t.Errorf("%q, %v", answer[:n], err)
				}
				if took := time.Since(before); took > c.within {
					t.Errorf("it took %v", took)
				}
				near.Close()
				close(listener)
				server.Close()
				<-ended
			})
		})
	}
}
