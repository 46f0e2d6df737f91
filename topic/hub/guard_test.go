package hub

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/logtest"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// hostile are callbacks that are refused when a request names them.
var hostile = []string{
	// Forbidden addresses (V1).
	"http://127.0.0.1/", "http://127.255.255.254:8080/", "http://0.0.0.0/", "http://0.1.2.3/", "http://10.0.0.1/", "http://172.16.0.1/",
	"http://172.31.255.255/", "http://192.168.1.1/", "http://169.254.169.254/latest/meta-data/", "http://169.254.0.1/",
	"http://100.64.0.1/", "http://100.100.100.200/", "http://192.0.0.192/", "http://168.63.129.16/", "http://192.0.2.1/",
	"http://192.88.99.1/", "http://198.18.0.1/", "http://198.51.100.1/", "http://203.0.113.1/", "http://224.0.0.1/", "http://239.255.255.250/",
	"http://240.0.0.1/", "http://255.255.255.255/",
	"http://[::1]/", "http://[::]/", "http://[fe80::1]/", "http://[fec0::1]/", "http://[fc00::1]/", "http://[fd00:ec2::254]/", "http://[ff02::1]/",
	"http://[2001:db8::1]/", "http://[3fff::1]/", "http://[2001:2::1]/", "http://[2001:10::1]/", "http://[100::1]/", "http://[3ffe::1]/", "http://[5f00::1]/",
	"http://localhost/", "http://LOCALHOST:8080/", "http://a.b.localhost/",

	// Disguised spellings (V2).
	"http://2130706433/", "http://017700000001/", "http://0x7f000001/", "http://0X7F.1/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.1/",
	"http://127.0.1/", "http://127.000.000.001/", "http://0/", "http://0x/", "http://08.8.8.8/", "http://8.8.8.8.8/", "http://example.0x1/", "http://256.256.256.256/",
	"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::FFFF:8.8.8.8]/", "http://[0:0:0:0:0:ffff:a9fe:a9fe]/", "http://[::127.0.0.1]/", "http://[::7f00:1]/",
	"http://[::ffff:0:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[64:ff9b::169.254.169.254]/", "http://[64:ff9b:1::7f00:1]/",
	"http://[2002:7f00:1::]/", "http://[2002:a9fe:a9fe::1]/", "http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "http://[2606:4700::5efe:7f00:1]/", "http://[2606:4700::200:5efe:127.0.0.1]/",
	"http://[fe80::1%25eth0]/", "http://[2606:4700::1%25eth0]/", "http://[::1", "http://::1/", "http://[127.0.0.1]/", "http://[]/",
	"http://127.0.0.1./", "http://example.net./", "http://localhost./", "http://.example.net/", "http://example..net/", "http://./",
	"http://%31%32%37.0.0.1/", "http://127%2E0.0.1/", "http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", "http://１２７.0.0.1/", "http://127。0。0。1/", "http://ⓛocalhost/",
	"http://user@example.net/", "http://user:pass@example.net/", "http://example.net:80@127.0.0.1/", "http://@example.net/", "http://example.net\\@127.0.0.1/", "http://example.net#@127.0.0.1/",
	"http://example.net/#fragment", "http://example.net/#", "http:///example.net/", "http:/127.0.0.1/", "http:127.0.0.1", "//127.0.0.1/", "127.0.0.1", "/inbox", "http://", "http://?", "http://:80/",
	"http://example.net:/", "http://example.net:0/", "http://example.net:65536/", "http://example.net:080/", "http://example.net:-1/", "http://example.net:8o/", "http://example.net:22/", "http://example.net:25/", "http://example.net:1023/",
	"http://a b/", "http://ex ample.net/", "http://example.net/a b", "http://exa!mple.net/", "http://exa(mple).net/", "http://" + strings.Repeat("a", 64) + ".net/", "http://" + strings.Repeat("a.", 127) + "net/",

	// Forbidden schemes, and injections into headers and logs (V26).
	"file:///etc/passwd", "ftp://example.net/", "gopher://127.0.0.1:6379/_x", "javascript:alert(1)", "data:,x", "unix:///var/run/docker.sock", "ws://example.net/", "dict://example.net/", "blob:http://example.net/",
	"http://example.net/\r\nX-Evil: 1", "http://example.net/\n", "http://example.net/\x00", "http://example.net/\t", "\thttp://example.net/", " http://example.net/", "http://example.net\r\n/", "http://example.net/\u2028", "http://example.net/é", "http://example.net/\xff",
	"http://example.net/%", "http://example.net/%2", "http://example.net/%zz", "http://example.net/<script>", "http://example.net/\"", "http://example.net/" + strings.Repeat("x", 2048),
}

// Requests with hostile callbacks are refused, and nothing of them is kept.
func TestWH27_V1_V2_V26_HostileCallbacks(t *testing.T) {
	f := idleFront(t, Options{AllowCallbacks: []netip.Prefix{netip.MustParsePrefix("10.9.8.7/32"), netip.MustParsePrefix("fd12::/48")}})
	for _, callback := range hostile {
		for _, mode := range []string{"subscribe", "unsubscribe"} {
			status, text := f.post(callback, "hub.mode", mode)
			if status != 400 && status != 403 || !strings.Contains(text, "hub.callback") {
				t.Errorf("%q: %d %s", callback, status, text)
			}
		}
	}
	if n := f.requests(); n != 0 {
		t.Errorf("%d requests were kept", n)
	}
	t.Logf("%d hostile callbacks", len(hostile))
}

// Allowed callbacks, and the hosts that limits count them for.
func TestCallbacks(t *testing.T) {
	g := &guard{}
	for callback, want := range map[string]string{
		"http://example.net":                           "example.net",
		"HTTPS://Example.NET/Inbox?x=http://127.0.0.1": "example.net",
		"https://example.net:8443/":                    "example.net",
		"http://xn--mnchen-3ya.example/":               "xn--mnchen-3ya.example",
		"http://a_b.1.2.3.example/":                    "a_b.1.2.3.example",
		"http://1e100.net/":                            "1e100.net",
		"http://0x7f.example/":                         "0x7f.example",
		"http://intranet/":                             "intranet",
		"http://8.8.8.8:1024/":                         "8.8.8.8",
		"http://172.15.255.255/":                       "172.15.255.255",
		"http://172.32.0.0/":                           "172.32.0.0",
		"http://100.128.0.0/":                          "100.128.0.0",
		"http://[2606:4700:0:0::1111]/":                "2606:4700::/64",
		"https://[2606:4700::ffff:0:0:1]:8443/":        "2606:4700::/64",
		"https://[2606:4700:0:1::1111]/":               "2606:4700:0:1::/64",
		"https://[2A00:1450::5]:443/":                  "2a00:1450::/64",
	} {
		if got, err := g.callback(callback); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", callback, got, err, want)
		}
	}
}

// V4: AllowCallbacks allows exactly the addresses that it names.
func TestV4_AllowCallbacks(t *testing.T) {
	g := &guard{allow: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24"), netip.MustParsePrefix("fd12::/48"), netip.MustParsePrefix("127.0.0.1/32")}}
	for addr, open := range map[string]bool{
		"10.1.2.3": true, "10.1.3.1": false, "::ffff:10.1.2.3": true, "::ffff:10.1.3.3": false, "64:ff9b::a01:203": false, "2002:a01:203::": false, "::10.1.2.3": false,
		"fd12::1": true, "fd12:0:1::1": false, "fd12::1%eth0": true, "127.0.0.1": true, "127.0.0.2": false, "0.0.0.0": false, "::1": false, "169.254.169.254": false,
		"8.8.8.8": true, "2606:4700::1": true,
	} {
		if err := g.addr(netip.MustParseAddr(addr)); (err == nil) != open {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := g.callback("http://localhost:8080/"); err != nil {
		t.Errorf("localhost, which is open: %v", err)
	}
	for _, p := range []netip.Prefix{{}, netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"), netip.MustParsePrefix("::ffff:10.0.0.0/104")} {
		if _, err := New(testHub, logtest.Seal(pushlog.NewMemory()), &Options{AllowCallbacks: []netip.Prefix{p}}); err == nil {
			t.Errorf("%v opens everything, or nothing", p)
		}
	}
}

// A nameServer answers with the addresses of names. Repeated queries get the next
// addresses.
type nameServer struct {
	net.PacketConn
	mu    sync.Mutex
	names map[string][]string
}

func newNameServer(t *testing.T, names map[string][]string) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{PacketConn: conn, names: names}
	t.Cleanup(func() { conn.Close() })
	go s.serve()
	return s
}

// at returns the URL of a server on 127.0.0.1 by a name that resolves to it.
func at(name, url string) string { return strings.Replace(url, "127.0.0.1", name, 1) }

// resolver returns a resolver that queries s only.
func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", s.LocalAddr().String())
	}}
}

func (s *nameServer) serve() {
	query := make([]byte, 512)
	for {
		n, from, err := s.ReadFrom(query)
		if err != nil {
			return
		}
		s.WriteTo(s.answer(query[:n]), from)
	}
}

// answer returns the answer to a query with one question (RFC 1035, section 4).
func (s *nameServer) answer(query []byte) []byte {
	var labels []string
	i := 12
	for query[i] != 0 {
		labels = append(labels, string(query[i+1:i+1+int(query[i])]))
		i += 1 + int(query[i])
	}
	question := query[12 : i+5]
	kind := binary.BigEndian.Uint16(query[i+1:])
	name := strings.ToLower(strings.Join(labels, "."))

	s.mu.Lock()
	defer s.mu.Unlock()
	var data []byte
	if left := s.names[name]; len(left) > 0 {
		a := netip.MustParseAddr(left[0])
		if kind == 1 && a.Is4() || kind == 28 && a.Is6() {
			data = a.AsSlice()
			if len(left) > 1 {
				s.names[name] = left[1:]
			}
		}
	}
	answer := append([]byte{query[0], query[1], 0x85, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if data != nil {
		answer[7] = 1
		answer = append(answer, 0xc0, 12) // the name in the question
		answer = binary.BigEndian.AppendUint16(answer, kind)
		answer = append(answer, 0, 1, 0, 0, 0, 0) // Internet, for no time at all
		answer = binary.BigEndian.AppendUint16(answer, uint16(len(data)))
		answer = append(answer, data...)
	}
	return answer
}

// V3: a name that resolves to a public address when it is checked, and to 127.0.0.1
// when it is dialled.
func TestV3_Rebinding(t *testing.T) {
	var reached atomic.Int64
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		echo(w, r)
	}))
	defer victim.Close()
	_, port, err := net.SplitHostPort(strings.TrimPrefix(victim.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]bool{"closed": false, "open": true} {
		t.Run(name, func(t *testing.T) {
			ns := newNameServer(t, map[string][]string{"rebinds.example": {"93.184.215.14", "127.0.0.1"}})
			o := Options{Resolver: ns.resolver(), AllowCallbacks: []netip.Prefix{}}
			if open {
				o.AllowCallbacks = loopback
			}
			f := newFront(t, o)

			// The first query returns the public address.
			addrs, err := o.Resolver.LookupNetIP(t.Context(), "ip4", "rebinds.example.")
			if err != nil || len(addrs) != 1 || f.guard.addr(addrs[0]) != nil {
				t.Fatal(addrs, err)
			}
			f.accepted("http://rebinds.example:" + port + "/")
			if got := len(f.subscriptions()) == 1; got != open {
				t.Errorf("subscribed: %v", got)
			}
			if got := reached.Swap(0) > 0; got != open {
				t.Errorf("127.0.0.1 was reached: %v", got)
			}
		})
	}
}

// The addresses of a name are checked like literal addresses, each time.
func TestV1_V3_HostileNames(t *testing.T) {
	names := map[string][]string{
		"v4.example": {"127.0.0.1"}, "zero.example": {"0.0.0.0"}, "meta.example": {"169.254.169.254"}, "private.example": {"10.0.0.1"}, "nat.example": {"100.64.0.1"},
		"v6.example": {"::1"}, "zero6.example": {"::"}, "mapped.example": {"::ffff:127.0.0.1"}, "nat64.example": {"64:ff9b::7f00:1"},
		"sixtofour.example": {"2002:7f00:1::"}, "teredo.example": {"2001::1"}, "ula.example": {"fd00:ec2::254"}, "link.example": {"fe80::1"},
	}
	f := idleFront(t, Options{Resolver: newNameServer(t, names).resolver(), AllowCallbacks: []netip.Prefix{}})
	for name := range names {
		if status, text := f.post("http://" + name + "/"); status != 202 {
			t.Errorf("%s: %d %s", name, status, text)
		}
		err := f.confirm(t.Context(), pushlog.Request{Topic: testTopic, Callback: "http://" + name + "/"})
		if !errors.Is(err, errForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// V29: the transport ignores the environment, and verifies certificates.
func TestV29_Transport(t *testing.T) {
	var hits atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	f := idleFront(t, Options{})
	if tr := f.transport.(*http.Transport); tr.Proxy != nil || tr.TLSClientConfig != nil {
		t.Error("a proxy, or TLS other than that of net/http")
	}

	tls := httptest.NewTLSServer(http.HandlerFunc(echo))
	tls.Config.ErrorLog = discardLog
	defer tls.Close()
	err := f.confirm(t.Context(), pushlog.Request{Topic: testTopic, Callback: tls.URL})
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobody has signed: %v", err)
	}
	if hits.Load() != 0 {
		t.Error("the proxy was used")
	}
}

// V30: a callback at one of our own topics is checked like any other.
func TestV30_CallbacksOfOurTopics(t *testing.T) {
	f := idleFront(t, Options{})
	for _, callback := range []string{"http://169.254.169.254/", "http://10.0.0.1/", "http://[::1]/"} {
		for _, topic := range []string{testTopic, callback, testHub} {
			f.Register(topic)
			if status, text := f.post(callback, "hub.topic", topic); status != 403 {
				t.Errorf("%s: %d %s", callback, status, text)
			}
		}
	}
}

// V10: operators never see the query of a callback.
func TestV10_Redaction(t *testing.T) {
	for callback, want := range map[string]string{
		"http://example.net/inbox":              "http://example.net/inbox",
		"http://example.net/inbox?" + testQuery: "http://example.net/inbox?…",
		"http://example.net?a=b?c":              "http://example.net?…",
	} {
		if got := sparse.RedactURI(callback); got != want {
			t.Errorf("%s: %s", callback, got)
		}
	}
	f := idleFront(t, Options{})
	for _, callback := range []string{"http://127.0.0.1:9/?" + testQuery, "http://10.0.0.1/?" + testQuery, "http://nobody.invalid/?" + testQuery, "ftp://x/?" + testQuery} {
		_, err := f.ask(t.Context(), callback, testSecret)
		if err == nil {
			t.Fatalf("%s: no error", callback)
		}
		if text := reason(err); strings.Contains(text, testQuery) || strings.Contains(text, testSecret) || text == "" {
			t.Errorf("%s: %s", callback, text)
		}
	}
	long := &url.Error{Op: "Get", URL: "http://x/?" + testQuery, Err: errors.New(strings.Repeat("é", 1000) + "\x1b[31m\r\n")}
	if text := reason(long); len(text) > 210 || strings.ContainsAny(text, "\x1b\r\n") {
		t.Errorf("%q", text)
	}
	if text := reason(&url.Error{Err: errors.New("a\x1b[31m\r\nb")}); text != "a [31m  b" {
		t.Errorf("%q", text)
	}
}
