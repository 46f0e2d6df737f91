package s3test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// Unconditional makes a bucket behind a proxy that takes the conditions out of requests, so that they
// are ignored as in stores that do not know them.
func (s Server) Unconditional(t testing.TB) *Bucket {
	t.Helper()
	server, err := url.Parse(needs.Variable(t, string(s)))
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", server.Host, server.Host
			r.Out.Header.Del("If-Match")
			r.Out.Header.Del("If-None-Match")
		},
		Transport: signing{server.User},
	})
	t.Cleanup(proxy.Close)
	return On(t, (&url.URL{Scheme: "http", User: server.User, Host: proxy.Listener.Addr().String()}).String())
}

// signing signs requests again, because their signatures covered the conditions.
type signing struct{ user *url.Userinfo }

func (s signing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") == "" {
		return http.DefaultTransport.RoundTrip(r)
	}
	r.Header.Del("Authorization")
	secret, _ := s.user.Password()
	of := aws.Credentials{AccessKeyID: s.user.Username(), SecretAccessKey: secret}
	if err := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).SignHTTP(r.Context(), of, r, r.Header.Get("X-Amz-Content-Sha256"), "s3", "us-east-1", time.Now()); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}
