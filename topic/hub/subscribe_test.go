package hub

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
)

func TestWH1_WH23_Subscribe(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	callback := s.URL + "/inbox?t=" + testQuery
	f.accepted(callback)
	subs := f.subscriptions()
	if len(subs) != 1 {
		t.Fatalf("%d subscriptions", len(subs))
	}
	got := subs[0]
	if got.Topic != testTopic || got.Callback != callback || got.Secret != nil || got.Host != "127.0.0.1" {
		t.Errorf("subscription %+v", got)
	}
}

func TestWH2_Secret(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL, "hub.secret", testSecret)
	if subs := f.subscriptions(); len(subs) != 1 || string(subs[0].Secret) != testSecret {
		t.Errorf("subscriptions %+v", subs)
	}
	for _, target := range s.requests() {
		if strings.Contains(target, "s3cret") {
			t.Errorf("the secret was sent: %s", target)
		}
	}
}

// The lease is the requested one, within bounds, and there always is one. Short ones
// cannot cause much work (V7).
func TestWH3_WH38_V7_Leases(t *testing.T) {
	for _, c := range []struct {
		asked string
		want  int
	}{
		{"", 864_000}, {"7200", 7200}, {"0", 300}, {"299", 300}, {"300", 300}, {"2678400", 2_678_400}, {"2678401", 2_678_400},
		{"00000000000000000000000000600", 600}, {"9223372036854775807", 2_678_400}, {"99999999999999999999999", 2_678_400},
	} {
		f := idleFront(t, Options{})
		got, err := f.lease(c.asked)
		if err != nil || got != time.Duration(c.want)*time.Second {
			t.Errorf("lease_seconds %q: %v, %v; want %d s", c.asked, got, err, c.want)
		}
	}
	f := idleFront(t, Options{})
	for _, asked := range []string{"-1", "+600", "1e3", "600.0", " 600", "600s", "0x10", "٦٠٠", "forever"} {
		if status, text := f.post("http://127.0.0.1/", "hub.lease_seconds", asked); status != 400 || !strings.Contains(text, "hub.lease_seconds") {
			t.Errorf("lease_seconds %q: %d %s", asked, status, text)
		}
	}
	if n := f.requests(); n != 0 {
		t.Errorf("%d requests were kept", n)
	}
}

func TestWH3_LeaseOptions(t *testing.T) {
	f := idleFront(t, Options{MinLease: 2 * time.Second, MaxLease: time.Minute, DefaultLease: 5 * time.Second})
	for asked, want := range map[string]time.Duration{"": 5 * time.Second, "1": 2 * time.Second, "3": 3 * time.Second, "61": time.Minute} {
		if got, err := f.lease(asked); err != nil || got != want {
			t.Errorf("lease_seconds %q: %v, %v; want %v", asked, got, err, want)
		}
	}
}

func TestWH4_Renew(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL, "hub.lease_seconds", "400")
	first := f.subscriptions()[0]
	f.accepted(s.URL, "hub.lease_seconds", "8000")
	subs := f.subscriptions()
	if len(subs) != 1 || subs[0].ID != first.ID || subs[0].Expires.Sub(first.Expires) < 7000*time.Second {
		t.Errorf("first %+v, then %+v", first, subs)
	}
}

func TestWH5_RS23_Unsubscribe(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL)
	f.accepted(s.URL + "/other")
	f.accepted(s.URL, "hub.mode", "unsubscribe")
	if subs := f.subscriptions(); len(subs) != 1 || subs[0].Callback != s.URL+"/other" {
		t.Errorf("subscriptions %+v", subs)
	}
	if got := s.last(t).Get("hub.mode"); got != "unsubscribe" {
		t.Errorf("hub.mode %q", got)
	}
}

// WH10, and attacks by request bodies.
func TestWH10_V13_V27_Forms(t *testing.T) {
	f := idleFront(t, Options{})
	good := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.callback": {"http://127.0.0.1/"}}.Encode()
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct {
		name, contentType, body string
		status                  int
		header                  []string
		query                   string
	}{
		{"plain", form, good, 202, nil, ""},
		{"charset", form + "; charset=UTF-8", good, 202, nil, ""},
		{"case", "Application/X-WWW-Form-URLencoded", good, 202, nil, ""},
		{"identity", form, good, 202, []string{"Content-Encoding", "identity"}, ""},
		{"other charset", form + "; charset=iso-8859-1", good, 415, nil, ""},
		{"no type", "", good, 415, nil, ""},
		{"broken type", form + "; =", good, 415, nil, ""},
		{"multipart", "multipart/form-data; boundary=x", good, 415, nil, ""},
		{"notification", "application/xml", "<urlset/>", 403, nil, ""},
		{"json", "application/json", `{"hub.mode":"subscribe"}`, 415, nil, ""},
		{"gzip", form, good, 415, []string{"Content-Encoding", "gzip"}, ""},
		{"too long", form, good + "&x=" + strings.Repeat("y", maxForm), 413, nil, ""},
		{"just not too long", form, good + "&x=" + strings.Repeat("y", maxForm-len(good)-3), 202, nil, ""},
		{"semicolons", form, strings.ReplaceAll(good, "&", ";"), 400, nil, ""},
		{"broken escape", form, good + "&x=%zz", 400, nil, ""},
		{"not UTF-8", form, good + "&hub.secret=%ff%fe", 400, nil, ""},
		{"empty", form, "", 400, nil, ""},
		{"in the query only", form, "", 400, nil, good},
		{"mode in the query", form, strings.ReplaceAll(good, "hub.mode=subscribe", ""), 400, nil, "hub.mode=subscribe"},
		{"query does not count", form, good, 202, nil, "hub.mode=publish&hub.callback=http://169.254.169.254/"},
		{"callback twice", form, good + "&hub.callback=http%3A%2F%2F169.254.169.254%2F", 400, nil, ""},
		{"same twice", form, good + "&hub.mode=subscribe", 400, nil, ""},
		{"unknown twice", form, good + "&hub.x=1&hub.x=2", 400, nil, ""},
		{"others twice", form, good + "&x=1&x=2", 202, nil, ""},
	} {
		r, err := http.NewRequest(http.MethodPost, f.url+"?"+c.query, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		if c.contentType != "" {
			r.Header.Set("Content-Type", c.contentType)
		}
		if c.header != nil {
			r.Header.Set(c.header[0], c.header[1])
		}
		if status, text := f.do(r); status != c.status {
			t.Errorf("%s: status %d, want %d: %s", c.name, status, c.status, text)
		}
		if kept, want := f.requests(), c.status == 202; (kept == 1) != want {
			t.Errorf("%s: %d requests were kept", c.name, kept)
		}
	}
}

func TestWH10_TwoContentTypes(t *testing.T) {
	f := idleFront(t, Options{})
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("hub.mode=subscribe"))
	r.Header["Content-Type"] = []string{"application/x-www-form-urlencoded", "application/xml"}
	w := httptest.NewRecorder()
	if f.ServeHTTP(w, r); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("status %d", w.Code)
	}
}

func TestWH11_LeaseOfUnsubscribe(t *testing.T) {
	f := idleFront(t, Options{})
	for _, lease := range []string{"600", "forever", "-1"} {
		if status, text := f.post("http://127.0.0.1/", "hub.mode", "unsubscribe", "hub.lease_seconds", lease); status != 202 {
			t.Errorf("lease_seconds %q: %d %s", lease, status, text)
		}
	}
}

// WH12 counts bytes, not characters.
func TestWH12_LongSecrets(t *testing.T) {
	f := idleFront(t, Options{})
	for secret, want := range map[string]int{
		"":                        202,
		strings.Repeat("x", 199):  202,
		strings.Repeat("x", 200):  400,
		strings.Repeat("é", 99):   202,
		strings.Repeat("é", 100):  400,
		strings.Repeat("x", 5000): 400,
	} {
		if status, text := f.post("http://127.0.0.1/", "hub.secret", secret); status != want {
			t.Errorf("%d bytes: %d %s", len(secret), status, text)
		}
	}
}

func TestWH13_NoSecret(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL, "hub.secret", "")
	if subs := f.subscriptions(); len(subs) != 1 || subs[0].Secret != nil {
		t.Errorf("subscriptions %+v", subs)
	}
}

func TestWH14_UnknownParameters(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	f.accepted(s.URL, "hub.verify", "sync", "hub.verify_token", "x", "foo", "bar", "hub.future", "")
	if len(f.subscriptions()) != 1 {
		t.Error("no subscription")
	}
}

// Only topics that are served, by their exact URI.
func TestWH18_WH27_V28_Topics(t *testing.T) {
	f := idleFront(t, Options{})
	f.Register("https://other.example/t")
	for _, topic := range []string{testTopic, "https://other.example/t"} {
		if status, text := f.post("http://127.0.0.1/", "hub.topic", topic); status != 202 {
			t.Errorf("%s: %d %s", topic, status, text)
		}
	}
	for _, topic := range []string{
		"https://example.org/", testTopic + "?", testTopic + "#", strings.TrimSuffix(testTopic, "/"), strings.ToUpper(testTopic),
		strings.Replace(testTopic, "https", "http", 1), strings.Replace(testTopic, "change", "ch%61nge", 1),
		strings.Replace(testTopic, ".org", ".org:443", 1), " " + testTopic, testTopic + "\r\n", testTopic + "\x00",
	} {
		if status, text := f.post("http://127.0.0.1/", "hub.topic", topic); status != 403 || !strings.Contains(text, "hub.topic") {
			t.Errorf("%q: %d %s", topic, status, text)
		}
	}
	if n := f.requests(); n != 2 {
		t.Errorf("%d requests were kept of the 2 for topics that are served", n)
	}
}

// WH19: percent-encoding of the form is decoded once.
func TestWH19_Decoding(t *testing.T) {
	f, s := newFront(t, Options{}), newSubscriber(t)
	encode := func(s string) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			fmt.Fprintf(&b, "%%%02x", c)
		}
		return b.String()
	}
	callback := s.URL + "/a%2Fb/%7Ec?d=%20e+f"
	r, _ := http.NewRequest(http.MethodPost, f.url, strings.NewReader("hub.mode=subscribe&hub.topic="+encode(testTopic)+"&hub.callback="+encode(callback)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if status, text := f.do(r); status != 202 {
		t.Fatalf("%d %s", status, text)
	}
	within(t, "a subscription", func() bool { return len(f.subscriptions()) == 1 })
	if got := f.subscriptions()[0]; got.Callback != callback || got.Topic != testTopic {
		t.Errorf("subscription %+v", got)
	}
}

// Refused requests get an error with a remedy. Method do checks that it is plain text.
func TestWH25_WH26_V25_Errors(t *testing.T) {
	f := idleFront(t, Options{})
	for _, c := range []struct {
		want   string
		params []string
	}{
		{"hub.mode must be", []string{"hub.mode", ""}},
		{"hub.mode must be", []string{"hub.mode", "Subscribe"}},
		{"hub.mode must be", []string{"hub.mode", "<script>alert(1)</script>"}},
		{"must be given", []string{"hub.topic", ""}},
		{"must be given", []string{"hub.callback", ""}},
		{"is not absolute", []string{"hub.callback", "/inbox"}},
		{"neither http nor https", []string{"hub.callback", "gopher://example.net/"}},
	} {
		status, text := f.post("http://127.0.0.1/", c.params...)
		if status != 400 || !strings.Contains(text, c.want) || strings.Contains(text, "<script>") {
			t.Errorf("%q: %d %s", c.params, status, text)
		}
	}
	if n := f.requests(); n != 0 {
		t.Errorf("%d requests were kept", n)
	}
}

// The hub never redirects, whatever the request.
func TestWH29_NoRedirects(t *testing.T) {
	f := idleFront(t, Options{})
	form := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.callback": {"http://127.0.0.1/"}}.Encode()
	for _, path := range []string{"/", "", "/websub", "/websub/", "//websub//", "/a/../websub", "/index.html", "/?hub.mode=subscribe", "/%2e%2e/"} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} {
			r := httptest.NewRequest(method, "http://hub.example"+path, strings.NewReader(form))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("X-Forwarded-Proto", "https")
			w := httptest.NewRecorder()
			f.ServeHTTP(w, r)
			if w.Code/100 == 3 || w.Header().Get("Location") != "" || (w.Code == 202) != (method == "POST") {
				t.Errorf("%s %s: %d to %q", method, path, w.Code, w.Header().Get("Location"))
			}
		}
	}
}

func TestMethods(t *testing.T) {
	f := idleFront(t, Options{})
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "PUT": 405, "DELETE": 405, "PATCH": 405, "OPTIONS": 405} {
		r, _ := http.NewRequest(method, f.url, nil)
		if status, _ := f.do(r); status != want {
			t.Errorf("%s: %d, want %d", method, status, want)
		}
	}
}

// Requests from strangers use bounded memory.
func TestV6_Limits(t *testing.T) {
	unlimited := Limits{Host: -1, HostPending: -1, Client: -1, ClientPending: -1, Topic: -1, Pending: -1}
	for name, set := range map[string]func(*Limits){
		"host":           func(l *Limits) { l.Host = 3 },
		"host pending":   func(l *Limits) { l.HostPending = 3 },
		"client":         func(l *Limits) { l.Client = 3 },
		"client pending": func(l *Limits) { l.ClientPending = 3 },
		"topic":          func(l *Limits) { l.Topic = 3 },
		"pending":        func(l *Limits) { l.Pending = 3 },
	} {
		limits := unlimited
		set(&limits)
		f := idleFront(t, Options{Limits: limits})
		for i := range 3 {
			if status, text := f.post(fmt.Sprintf("http://127.0.0.1/%d", i)); status != 202 {
				t.Errorf("%s: %d %s", name, status, text)
			}
		}
		if status, text := f.post("http://127.0.0.1/4"); status != 429 || strings.Contains(text, "await verification") != strings.Contains(name, "pending") {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if status, text := f.post("http://127.0.0.1/1"); status != 202 {
			t.Errorf("%s: a repeated request counts again: %d %s", name, status, text)
		}
	}
}

// By default, the pending requests of a host or a client are limited.
func TestV6_DefaultLimits(t *testing.T) {
	f := idleFront(t, Options{})
	accepted := 0
	for i := range 300 {
		if status, _ := f.post(fmt.Sprintf("http://127.0.0.1/%d", i)); status == 202 {
			accepted++
		}
	}
	if accepted != DefaultLimits.HostPending {
		t.Errorf("%d accepted for one host", accepted)
	}
	f = idleFront(t, Options{})
	accepted = 0
	for i := range 300 {
		if status, _ := f.post(fmt.Sprintf("http://host%d.example/", i)); status == 202 {
			accepted++
		}
	}
	if accepted != DefaultLimits.ClientPending {
		t.Errorf("%d accepted from one client", accepted)
	}
}

// The option Client decides what limits per client count by; by default, it is the
// address of the connection.
func TestClient(t *testing.T) {
	real := func(r *http.Request) string { return r.Header.Get("X-Real-IP") }
	for name, tt := range map[string]struct {
		client func(r *http.Request) string
		want   string
	}{"address": {nil, "127.0.0.1"}, "header": {real, "198.51.100.1"}} {
		t.Run(name, func(t *testing.T) {
			f := idleFront(t, Options{Client: tt.client})
			form := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {testTopic}, "hub.callback": {"http://127.0.0.1/"}}
			r, err := http.NewRequest(http.MethodPost, f.url, strings.NewReader(form.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("X-Real-IP", "198.51.100.1")
			if status, text := f.do(r); status != http.StatusAccepted {
				t.Fatal(status, text)
			}
			kept, err := f.store.ClaimRequests(t.Context(), "test", 10)
			if err != nil || len(kept) != 1 || kept[0].Client != tt.want {
				t.Errorf("%+v, %v, want %s", kept, err, tt.want)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	for name, o := range map[string]Options{
		"lease in parts": {MinLease: 1500 * time.Millisecond},
		"leases":         {MinLease: time.Hour, MaxLease: time.Minute},
		"default lease":  {DefaultLease: time.Second},
		"timeout":        {Timeout: time.Minute},
		"signature":      {Signature: "sha1"},
	} {
		if _, err := New(testHub, logtest.Seal(pushlog.NewMemory()), &o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, uri := range []string{"", "/websub/", "ftp://example.org/", "https://", "https://u@example.org/", "https://example.org/#x"} {
		if _, err := New(uri, logtest.Seal(pushlog.NewMemory()), nil); err == nil {
			t.Errorf("%s: no error", uri)
		}
	}
}
