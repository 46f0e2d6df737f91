package hub

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// An authority signs certificates for tests. The hub has no option to trust one, so
// trusted changes its fields.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{t: t, key: key}
	a.cert = a.sign(&x509.Certificate{
		Subject:               pkix.Name{CommonName: "Test Authority"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign,
	}, nil, key)
	return a
}

// sign signs template with the key of a, in the name of parent, or of itself.
func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if parent == nil {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// certificate returns a certificate for a server with these names.
func (a *authority) certificate(names ...string) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	cert := a.sign(&x509.Certificate{DNSNames: names, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, a.cert, key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// trusted makes h trust a.
func (a *authority) trusted(h *Hub) {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	h.transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
}

// A tlsCallback is a callback over TLS, with HTTP/2 or without. It confirms requests.
type tlsCallback struct {
	*httptest.Server
	answer http.HandlerFunc // to deliveries; nil: 204

	mu     sync.Mutex
	names  []string // that connections were made to
	protos []string // of requests
	got    []delivery
}

func newTLSCallback(t *testing.T, cert tls.Certificate, http2 bool, answer http.HandlerFunc) *tlsCallback {
	t.Helper()
	c := &tlsCallback{answer: answer}
	c.Server = httptest.NewUnstartedServer(c)
	c.EnableHTTP2 = http2
	c.Config.ErrorLog = discardLog
	c.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.names = append(c.names, hello.ServerName)
		return nil, nil
	}}
	c.StartTLS()
	t.Cleanup(c.Close)
	return c
}

func (c *tlsCallback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.protos = append(c.protos, r.Proto)
	if r.Method == http.MethodPost {
		c.got = append(c.got, delivery{r.Method, r.RequestURI, r.Header, string(body)})
	}
	c.mu.Unlock()
	switch {
	case r.Method == http.MethodGet:
		echo(w, r)
	case c.answer != nil:
		c.answer(w, r)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (c *tlsCallback) deliveries() []delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.got)
}

// named returns options with a resolver that returns the addresses in names, and
// 127.0.0.1 for all other names.
func named(t *testing.T, names map[string]string) Options {
	all := map[string][]string{}
	for _, name := range []string{"callback.example", "other.example"} {
		all[name] = []string{"127.0.0.1"}
	}
	for name, addr := range names {
		all[name] = []string{addr}
	}
	return Options{Resolver: newNameServer(t, all).resolver(), Retry: 20 * time.Millisecond}
}

// A callback over TLS, by its name: it confirms, and gets its messages, signed, over
// one connection.
func TestWH53_V29_TLS(t *testing.T) {
	for proto, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(proto, func(t *testing.T) {
			ca := newAuthority(t)
			c := newTLSCallback(t, ca.certificate("callback.example"), http2, nil)
			f := idleFront(t, named(t, nil))
			ca.trusted(f.Hub)
			f.run()
			f.accepted(at("callback.example", c.URL)+"/?"+testQuery, "hub.secret", testSecret)
			for _, body := range []string{"one", "two"} {
				publish(t, f.Hub, body)
			}
			within(t, "two deliveries", func() bool { return len(c.deliveries()) == 2 })
			for i, body := range []string{"one", "two"} {
				d := c.deliveries()[i]
				if d.uri != "/?"+testQuery || d.body != body || d.header.Get("X-Hub-Signature") != sign("sha256", []byte(testSecret), []byte(body)) {
					t.Errorf("delivered %+v", d)
				}
				if n := len(d.header["Link"]); n != 1 || d.header["Idempotency-Key"] != nil {
					t.Errorf("headers %v", d.header)
				}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if want := []string{"callback.example"}; !slices.Equal(c.names, want) {
				t.Errorf("connections to %q", c.names)
			}
			if want := []string{proto, proto, proto}; !slices.Equal(c.protos, want) {
				t.Errorf("requests over %q", c.protos)
			}
		})
	}
}

// A certificate that does not prove the name is refused, and operators see why.
func TestV10_V29_WrongCertificates(t *testing.T) {
	ca, stranger := newAuthority(t), newAuthority(t)
	for name, test := range map[string]struct {
		cert tls.Certificate
		why  string
	}{
		"other name":  {ca.certificate("other.example"), "certificate is valid for other.example, not callback.example"},
		"self-signed": {stranger.certificate("callback.example"), "certificate signed by unknown authority"},
		"no name":     {ca.certificate(), "certificate is not valid for any names"},
	} {
		for _, http2 := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s HTTP2=%v", name, http2), func(t *testing.T) {
				t.Parallel()
				c := newTLSCallback(t, test.cert, http2, nil)
				f := idleFront(t, named(t, nil))
				ca.trusted(f.Hub)
				callback := at("callback.example", c.URL) + "/?" + testQuery
				// The subscription was verified while the certificate was valid.
				f.subscribed(callback, testSecret)
				f.run()
				f.accepted(callback+"&new", "hub.secret", testSecret)
				if n := f.requestTotals.Load().Unverified; n != 1 || len(f.subscriptions()) != 1 {
					t.Errorf("%d were not verified", n)
				}
				if log := f.log.String(); !strings.Contains(log, test.why) {
					t.Errorf("the log lacks %q:\n%s", test.why, log)
				}
				publish(t, f.Hub, "message")
				within(t, "a delivery that has failed", func() bool { return f.deliveryTotals.Load().Unanswered > 1 })
				for sub, err := range f.Subscriptions(t.Context()) {
					if p := sub; err != nil || p.Failures == 0 || !strings.Contains(p.LastError, test.why) || strings.Contains(p.LastError, testQuery) {
						t.Errorf("%+v, %v", p, err)
					}
				}
				if s, err := f.Status(t.Context()); err != nil || s.Failing != 1 || s.Deliveries.Delivered != 0 {
					t.Errorf("%+v, %v", s, err)
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				if len(c.protos) != 0 {
					t.Errorf("%d requests were made", len(c.protos))
				}
			})
		}
	}
}

// V10: an invalid response that repeats our request, as servers of other protocols
// send.
func TestV10_EchoedRequest(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		switch r.URL.Path {
		case "/status":
			fmt.Fprintf(conn, "%s %s: unknown command\r\n\r\n", r.Method, r.RequestURI)
		case "/header":
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nBad %s\r\n\r\n", r.RequestURI)
		case "/length":
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n", r.RequestURI)
		case "/encoding":
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n", r.RequestURI)
		}
	}))
	defer s.Close()
	f := idleFront(t, Options{Retry: time.Hour})
	paths := []string{"/status", "/header", "/length", "/encoding"}
	for _, path := range paths {
		f.subscribed(s.URL+path+"?"+testQuery, testSecret)
	}
	f.run()
	for _, path := range paths {
		f.accepted(s.URL + path + "?new&" + testQuery)
	}
	publish(t, f.Hub, "message")
	within(t, "all fail", func() bool {
		s, err := f.Status(t.Context())
		return err == nil && s.Failing == 4
	})
	for sub := range f.Subscriptions(t.Context()) {
		if text := sub.LastError; strings.Contains(text, testQuery) || len(text) < 10 {
			t.Errorf("%s: %s", sub.Callback, text)
		}
	}
}

// V14: a response over HTTP/2 does not fill memory before it is read.
func TestV14_EndlessAnswerHTTP2(t *testing.T) {
	ca := newAuthority(t)
	sent := make(chan int, 1)
	c := newTLSCallback(t, ca.certificate("callback.example"), true, func(w http.ResponseWriter, r *http.Request) {
		n, block := 0, bytes.Repeat([]byte("x"), 4<<10)
		for n < 64<<20 {
			if _, err := w.Write(block); err != nil {
				break
			}
			n += len(block)
		}
		sent <- n
	})
	f := idleFront(t, named(t, nil))
	ca.trusted(f.Hub)
	f.subscribed(at("callback.example", c.URL), "")
	f.run()
	publish(t, f.Hub, "message")
	if n := <-sent; n > 64<<10 {
		t.Errorf("%d bytes of a response were read", n)
	}
	within(t, "the message is delivered", func() bool { return f.deliveryTotals.Load().Delivered == 1 })
}
