package s3bucket_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/adapters/objectstore"
)

// objectsAt returns the bucket papers of a server over HTTPS.
func objectsAt(t *testing.T, h http.HandlerFunc) s3bucket.Objects {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	return s3bucket.Objects{Bucket: "papers", Client: s3.New(s3.Options{
		BaseEndpoint: &server.URL, Region: "us-east-1", UsePathStyle: true, HTTPClient: server.Client(), RetryMaxAttempts: 1,
		Credentials:                credentials.NewStaticCredentialsProvider("key", "secret", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenSupported, // as of a client with the usual configuration
	})}
}

// TestPut checks the request that stores an object: stores that ignore what they do not know must
// keep the right bytes and headers.
func TestPut(t *testing.T) {
	var sent http.Header
	var text []byte
	b := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header
		text, _ = io.ReadAll(r.Body)
		w.Header().Set("ETag", `"1"`)
	})
	const content = "<urlset/>"
	etag, err := b.Put(t.Context(), "a.xml", strings.NewReader(content), int64(len(content)), objectstore.Header{Type: "application/xml", Encoding: "gzip"}, objectstore.Condition{IfNone: true})
	if err != nil || etag != "1" || string(text) != content {
		t.Fatalf("entity tag %q, %v; sent: %q", etag, err, text)
	}
	for name, want := range map[string]string{
		"Content-Encoding": "gzip", "Content-Type": "application/xml", "If-None-Match": "*", "Content-Md5": "VOvLTbWV2crpo9j23Hlq+Q==", "X-Amz-Trailer": "",
	} {
		if got := strings.Join(sent.Values(name), ","); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestPutErrors checks what an answer to a write that depends on an object means.
func TestPutErrors(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		code   string
		want   error // or nil if the error has no meaning
	}{
		"changed":     {412, "PreconditionFailed", objectstore.ErrCondition},
		"gone":        {404, "NoSuchKey", objectstore.ErrCondition},
		"no bucket":   {404, "NoSuchBucket", nil},
		"unsupported": {501, "NotImplemented", errors.ErrUnsupported},
	} {
		b := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(test.status)
			fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", test.code)
		})
		_, err := b.Put(t.Context(), "a.xml", strings.NewReader("x"), 1, objectstore.Header{}, objectstore.Condition{IfMatch: "1"})
		for _, meaning := range []error{objectstore.ErrCondition, errors.ErrUnsupported} {
			if errors.Is(err, meaning) != (meaning == test.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestList checks where a listing ends, and that one without an end is an error.
func TestList(t *testing.T) {
	page := func(key, rest string) string {
		return "<ListBucketResult><Contents><Key>" + key + "</Key><Size>1</Size></Contents>" + rest + "</ListBucketResult>"
	}
	const truncated = "<IsTruncated>true</IsTruncated>"
	for name, test := range map[string]struct {
		second string // the second page
		whole  bool
	}{
		"ends":                {page("b", "<IsTruncated>false</IsTruncated>"), true},
		"ends with a token":   {page("b", "<IsTruncated>false</IsTruncated><NextContinuationToken>2</NextContinuationToken>"), true},
		"repeats its token":   {page("b", truncated+"<NextContinuationToken>2</NextContinuationToken>"), false},
		"continues, no token": {page("b", truncated), false},
	} {
		requests := 0
		b := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			text := page("a", truncated+"<NextContinuationToken>2</NextContinuationToken>")
			if r.URL.Query().Get("continuation-token") == "2" {
				text = test.second
			}
			if requests > 3 {
				text = page("endless", "")
			}
			_, _ = io.WriteString(w, text)
		})
		var keys []string
		var failed error
		for o, err := range b.List(t.Context(), "") {
			if err != nil {
				failed = err
				break
			}
			keys = append(keys, o.Key)
		}
		if !slices.Equal(keys, []string{"a", "b"}) || (failed == nil) != test.whole {
			t.Errorf("%s: %q, %v", name, keys, failed)
		}
	}
}

// TestNoLength checks that an object whose length is not known is not taken for an empty one.
func TestNoLength(t *testing.T) {
	b := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
	})
	if o, err := b.Head(t.Context(), "a.xml"); err == nil || !strings.Contains(err.Error(), "length") {
		t.Errorf("%+v, %v", o, err)
	}
	if _, o, err := b.Get(t.Context(), "a.xml"); err == nil || !strings.Contains(err.Error(), "length") {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestAnswers: errors in answers are short, and have the same text each time.
func TestAnswers(t *testing.T) {
	n := 0
	b := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("x-amz-request-id", fmt.Sprint(n))
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, "<Error><Code>NoSuchBucket</Code><Message>The bucket does not exist</Message><RequestId>%d</RequestId></Error>", n)
	})
	for range 2 {
		if _, err := b.Head(t.Context(), "a"); err == nil || err.Error() != "S3 answered 403 Forbidden" {
			t.Errorf("head: %v", err)
		}
		_, err := b.Put(t.Context(), "a", strings.NewReader(""), 0, objectstore.Header{}, objectstore.Condition{})
		if err == nil || err.Error() != "S3 answered 404 NoSuchBucket: The bucket does not exist" || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("put: %v", err)
		}
	}
}

// TestNoAnswer: the error of a request without an answer says why there is none, with the same text each time.
func TestNoAnswer(t *testing.T) {
	for what, test := range map[string]struct {
		handle func(net.Conn)
		want   string
	}{
		"end":   {func(c net.Conn) { c.Close() }, "S3 did not answer: EOF"},
		"reset": {func(c net.Conn) { c = c.(*tls.Conn).NetConn(); c.(*net.TCPConn).SetLinger(0); c.Close() }, "S3 did not answer: read tcp "},
	} {
		b := objectsAt(t, func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			test.handle(c)
		})
		_, first := b.Head(t.Context(), "a")
		_, second := b.Head(t.Context(), "a")
		if first == nil || second == nil || first.Error() != second.Error() || !strings.HasPrefix(first.Error(), test.want) {
			t.Errorf("%s: %v, and then %v", what, first, second)
		}
	}
}
