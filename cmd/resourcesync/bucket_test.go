package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

// newBucket returns a public bucket of the test server, with its credentials in the
// environment.
func newBucket(t *testing.T) *s3test.Bucket {
	t.Helper()
	return public(t, s3test.New(t))
}

// public lets everybody read a bucket, and puts its credentials in the environment.
func public(t *testing.T, b *s3test.Bucket) *s3test.Bucket {
	t.Helper()
	b.Publish(t, "*")
	for _, variable := range b.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	return b
}

// startBucket publishes a bucket and waits until it is ready. It returns the URL of the site.
func startBucket(t *testing.T, flags ...string) (site string) {
	t.Helper()
	stdout, stderr := newOutput(t), newOutput(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	args := append([]string{"bucket", "--listen", "127.0.0.1:0", "--state", filepath.Join(t.TempDir(), "state.db")}, flags...)
	status := make(chan int, 1)
	go func() { status <- run(ctx, args, stdout, stderr) }()
	t.Cleanup(sync.OnceFunc(func() {
		cancel()
		if status := <-status; status != 0 {
			t.Errorf("status %d:\n%s", status, stderr)
		}
	}))
	site = "http://" + stderr.await(`address"?[=:]"?([0-9.:]+)`)[1] + "/"
	stdout.await("Ready")
	return site
}

// A bucket is published, the store reports its changes, and the Source is copied into
// another bucket.
func TestBucket(t *testing.T) {
	from, to := newBucket(t), newBucket(t)
	from.Put(t, "a.txt", "one")
	from.Put(t, "folder/b c.txt", "two")
	site := startBucket(t, from.URL, "--uri", from.Public, "--ping-token", "secret", "--rescan", "1h", "--dumps")
	state := filepath.Join(t.TempDir(), "state")
	copied := strings.Replace(to.URL, "?", "/copy?", 1)
	mirror := func(flags ...string) string {
		t.Helper()
		status, out, errs := runMirror(t, append([]string{site, copied, "--state-folder", state, "--allow-addresses", "127.0.0.0/8"}, flags...)...)
		if status != 0 {
			t.Fatalf("status %d: %s%s", status, out, errs)
		}
		return out
	}
	if out := mirror(); !strings.HasPrefix(out, "2 created") {
		t.Error(out)
	}
	from.Put(t, "a.txt", "changed")
	from.Delete(t, "folder/b c.txt")
	event := `{"Records":[{"s3":{"object":{"key":"a.txt"}}},{"s3":{"object":{"key":"folder/b+c.txt"}}}]}`
	ping, err := url.JoinPath(site, "resourcesync/ping")
	must(t, err)
	req, err := http.NewRequest(http.MethodPost, ping, strings.NewReader(event))
	must(t, err)
	req.SetBasicAuth("x", "secret")
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	must(t, err)
	res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		t.Fatal(res.Status)
	}
	for end := time.Now().Add(needs.Patience); ; time.Sleep(50 * time.Millisecond) {
		res, err := http.Get(site + "resourcesync/changelist.xml")
		must(t, err)
		list, err := io.ReadAll(res.Body)
		res.Body.Close()
		must(t, err)
		if strings.Contains(string(list), `change="updated"`) && strings.Contains(string(list), `change="deleted"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the Change List is\n%s", list)
		}
	}
	if out := mirror(); !strings.HasPrefix(out, "0 created, 1 updated, 1 deleted") {
		t.Error(out)
	}
	if out := mirror("--audit"); !strings.HasPrefix(out, "1 resource listed, 1 the same") {
		t.Error(out)
	}
	opened := to.Open(t)
	found := ""
	for it := opened.List(nil); ; {
		o, err := it.Next(t.Context())
		if err == io.EOF {
			break
		}
		must(t, err)
		text, err := opened.ReadAll(t.Context(), o.Key)
		must(t, err)
		if !strings.HasSuffix(o.Key, "/.resourcesync") {
			found += o.Key + "=" + string(text) + " "
		}
	}
	if !strings.HasSuffix(found, "a.txt=changed ") || strings.Count(found, "=") != 1 {
		t.Errorf("the copy has %s", found)
	}
	// The state of another bucket is refused.
	status, _, errs := runMirror(t, site, to.URL, "--state-folder", state, "--allow-addresses", "127.0.0.0/8")
	if status != 2 || !strings.Contains(errs, "has the state of the copy in s3://") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// Google's servers change Accept-Encoding before they check signatures.
func TestGoogleSignatures(t *testing.T) {
	b := newBucket(t)
	b.Put(t, "a.txt", "one")
	server, err := url.Parse(os.Getenv("RESOURCESYNC_TEST_S3"))
	must(t, err)
	server.User = nil
	front := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		if got := r.In.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("Accept-Encoding: %q", got)
		}
		r.SetURL(server)
		r.Out.Host = r.In.Host // which is signed
		r.Out.Header.Set("Accept-Encoding", "identity,gzip(gfe)")
	}})
	defer front.Close()
	at, err := bucketurl.Parse("gs://" + b.Name + "?region=us-east-1&endpoint=" + url.QueryEscape(front.URL))
	must(t, err)
	opened, err := at.Open(t.Context())
	must(t, err)
	defer opened.Close()
	must(t, opened.WriteAll(t.Context(), "b.txt", []byte("two"), nil))
	for key, want := range map[string]string{"a.txt": "one", "b.txt": "two"} {
		if got, err := opened.ReadAll(t.Context(), key); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", key, got, err)
		}
	}
	if o, err := opened.List(nil).Next(t.Context()); err != nil || o.Key != "a.txt" {
		t.Errorf("%v, %v", o, err)
	}
}

func TestBucketFlags(t *testing.T) {
	const uri = "https://data.example.org/{key}"
	for _, c := range []struct {
		args []string
		want string // in the error
	}{
		{nil, "no bucket given"},
		{[]string{"name", "--uri", uri}, "give s3://NAME"},
		{[]string{"ftp://name", "--uri", uri}, "the scheme ftp is not known"},
		{[]string{"file:///srv", "--uri", uri}, "resourcesync serve"},
		{[]string{"s3://", "--uri", uri}, "has no name"},
		{[]string{"s3://key:secret@name", "--uri", uri}, "not in the URL"},
		{[]string{"s3://user:secret@", "--uri", uri}, "not in the URL"},
		{[]string{"s3://user:secret%ss@papers", "--uri", uri}, "is not valid: give s3://NAME, gs://NAME or azblob://NAME"},
		{[]string{"s3://user:secret@papers:port", "--uri", uri}, "is not valid: give s3://NAME, gs://NAME or azblob://NAME"},
		{[]string{"ftp://user:secret@papers", "--uri", uri}, "the scheme ftp is not known"},
		{[]string{"file://user:secret@papers", "--uri", uri}, "needs no bucket"},
		{[]string{"s3://?endpoint=https://user:secret@host", "--uri", uri}, "not in the URL"},
		{[]string{"ftp://papers?endpoint=https://user:secret@host", "--uri", uri}, "not in the URL"},
		{[]string{"s3://papers?prefix=a&endpoint=https://u:secret@me", "--uri", uri}, "not in the URL"},
		{[]string{"s3://name?prefix=a/", "--uri", uri}, "s3://name/papers/"},
		{[]string{"s3://name"}, "https://name.s3.amazonaws.com/{key}"},
		{[]string{"gs://name/a"}, "https://storage.googleapis.com/name/a/{key}"},
		{[]string{"s3://name", "--uri", "https://data.example.org/"}, "write {key} once"},
		{[]string{"s3://name", "--uri", uri, "--verify-every", "1s"}, "--verify-every"},
		{[]string{"s3://name", "--uri", uri, "--verify-every", "0", "--private"}, ""},
	} {
		_, err := parseSite("bucket", kindOf("bucket"), c.args)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v: %v, expected %q", c.args, err, c.want)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"https://example.org/", "s3://name"}, "--state-folder"},
		{[]string{"https://example.org/", "copy", "--state-folder", "x"}, "--state-folder"},
		{[]string{"https://example.org/", "file:///copy", "--state-folder", "x"}, "needs no bucket"},
	} {
		if _, err := parseMirror(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("mirror %v: %v", c.args, err)
		}
	}
}
