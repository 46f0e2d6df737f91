package bucket_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/scan"
)

// Objects that only the owner can read are not listed, unless asked for.
func TestPrivate(t *testing.T) {
	b := s3test.New(t)
	b.Publish(t, "public/*")
	for _, key := range []string{"public/1", "public/2", "private/1", "private/2", "private/3"} {
		b.Put(t, key, key)
	}
	p := publishS3(t, b, bucket.Options{VerifyEvery: always})
	p.scan(t, resourcesync.ScanResult{Created: 2})
	if got, want := p.Progress(), (scan.Progress{Resources: 2, Skipped: 3}); got != want {
		t.Errorf("progress %+v, expected %+v", got, want)
	}
	if got := strings.Count(p.log.String(), `status="403 `); got != 3 {
		t.Errorf("%d reports:\n%s", got, p.log)
	}
	for key := range p.listed(t) {
		if !strings.HasPrefix(key, "public/") {
			t.Errorf("%s is listed", key)
		}
	}
	// The policy changes, the objects do not.
	b.Publish(t, "public/1", "private/1")
	p.scan(t, resourcesync.ScanResult{Created: 1, Unchanged: 1})
	if got, want := p.Progress(), (scan.Progress{Resources: 2, Skipped: 3}); got != want {
		t.Errorf("progress of the second scan: %+v, expected %+v", got, want)
	}
	if listed := p.listed(t); len(listed) != 2 || listed["public/1"].Key == "" || listed["private/1"].Key == "" {
		t.Errorf("after another policy, %v are listed", listed)
	}
	all := publishS3(t, b, bucket.Options{Private: true})
	all.scan(t, resourcesync.ScanResult{Created: 5})
	if r := all.listed(t)["private/2"]; len(r.Hashes) > 0 || r.Type != "" {
		t.Errorf("a hash that nobody vouches for: %+v", r)
	}
}

// Withheld objects are requested once, and unchanged ones never, until their time comes.
func TestRequestsOnce(t *testing.T) {
	b := s3test.New(t)
	b.Publish(t, "public/*")
	b.Put(t, "public/1", "x")
	b.Put(t, "private/1", "x")
	var requests atomic.Int64
	p := publishS3(t, b, bucket.Options{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		requests.Add(1)
		if r.Method != http.MethodHead || r.Header.Get("Authorization") != "" {
			t.Errorf("%s with %v", r.Method, r.Header)
		}
		return http.DefaultTransport.RoundTrip(r)
	})})
	p.scan(t, resourcesync.ScanResult{Created: 1})
	p.scan(t, resourcesync.ScanResult{Unchanged: 1})
	b.Put(t, "public/1", "changed")
	p.scan(t, resourcesync.ScanResult{Updated: 1})
	if n := requests.Load(); n != 3 {
		t.Errorf("%d requests, expected 3", n)
	}
}

// A template that leads nowhere is an error, not an empty list.
func TestNothingReadable(t *testing.T) {
	b := s3test.New(t)
	b.Put(t, "a", "x")
	p := publishS3(t, b, bucket.Options{})
	_, err := p.set.Scan(t.Context(), p.Resources(t.Context()))
	if err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("private: %v", err)
	}
	b.Public = "http://127.0.0.1:1/{key}"
	p = publishS3(t, b, bucket.Options{})
	_, err = p.set.Scan(t.Context(), p.Resources(t.Context()))
	if err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("unreachable: %v", err)
	}
}

// If requests fail, objects stay as they are: listed ones listed, the others not.
func TestRequestsFail(t *testing.T) {
	b := s3test.New(t)
	b.Publish(t, "*")
	b.Put(t, "a", "x")
	var fails atomic.Bool
	p := publishS3(t, b, bucket.Options{VerifyEvery: always, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		if fails.Load() {
			return nil, errors.New("the network is down")
		}
		return http.DefaultTransport.RoundTrip(r)
	})})
	p.scan(t, resourcesync.ScanResult{Created: 1})
	fails.Store(true)
	b.Put(t, "a", "changed")
	b.Put(t, "b", "new")
	p.scan(t, resourcesync.ScanResult{Unchanged: 1})
	fails.Store(false)
	p.scan(t, resourcesync.ScanResult{Created: 1, Updated: 1})
}

// A URI at which there is another length is that of something else.
func TestOtherLength(t *testing.T) {
	b := s3test.New(t)
	b.Publish(t, "*")
	b.Put(t, "a", "x")
	b.Put(t, "b", "long")
	b.Public = strings.Replace(b.Public, "{key}", "b?of={key}", 1)
	p := publishS3(t, b, bucket.Options{})
	p.scan(t, resourcesync.ScanResult{Created: 1})
	if _, ok := p.listed(t)["b"]; !ok || !strings.Contains(p.log.String(), "4 bytes at its URI and 1 in the bucket") {
		t.Errorf("%v\n%s", p.listed(t), p.log)
	}
}
