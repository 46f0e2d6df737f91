package bucket_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
)

func TestPart(t *testing.T) {
	each(t, func(t *testing.T, b objects, publish func(bucket.Options) *published) {
		p := publish(bucket.Options{})
		for _, key := range []string{"a", "b", "c/1", "c/2", "c0", "d"} {
			b.Put(t, key, key)
		}
		p.scan(t, resourcesync.ScanResult{Created: 6})
		b.Put(t, "a", "changed")
		b.Delete(t, "b")
		b.Put(t, "bb", "new, and not reported")
		b.Delete(t, "c/1")
		b.Put(t, "c/3", "new")
		b.Put(t, "d", "changed, and not reported")
		ranges, listing := p.Part(t.Context(), []string{"a", "b", "c/", "none"})
		got, err := p.set.ScanRanges(t.Context(), ranges, listing)
		if want := (resourcesync.ScanResult{Created: 1, Updated: 1, Deleted: 2, Unchanged: 1}); err != nil || got != want {
			t.Errorf("%+v, %v", got, err)
		}
		p.scan(t, resourcesync.ScanResult{Created: 1, Updated: 1, Unchanged: 4})
	})
}

func TestPing(t *testing.T) {
	b := s3test.New(t)
	p := publishS3(t, b, bucket.Options{Prefix: "in/"})
	handler := p.Ping("secret")
	at := strings.TrimSuffix(b.Public, "{key}")
	for _, c := range []struct {
		name, token, kind, body string
		status                  int
		want                    []string // nil for a complete scan
	}{
		{"a URI", "Bearer secret", "application/x-www-form-urlencoded", "url=" + at + "a%2520b", 202, []string{"a b"}},
		{"nothing", "Bearer secret", "application/x-www-form-urlencoded", "", 202, nil},
		{"the event of an object", "Bearer secret", "application/json; charset=utf-8", `{"Records":[{"s3":{"object":{"key":"in/a+b%2Fc"}}}]}`, 202, []string{"a b/c", "a+b%2Fc"}},
		{"as a password", "Basic eDpzZWNyZXQ=", "application/json", `{"Records":[{"s3":{"object":{"key":"in/a"}}},{"s3":{"object":{"key":"out/b"}}}]}`, 202, []string{"a"}},
		{"a test event", "Bearer secret", "application/json", `{"Event":"s3:TestEvent"}`, 202, []string{}},
		{"another token", "Bearer other", "", "", 401, []string{}},
		{"another site", "Bearer secret", "", "url=https://example.net/a", 400, []string{}},
		{"no JSON", "Bearer secret", "application/json", "<xml>", 400, []string{}},
		{"too much", "Bearer secret", "", "url=" + strings.Repeat("x", 70_000), 413, []string{}},
	} {
		req := httptest.NewRequest(http.MethodPost, "/ping", strings.NewReader(c.body))
		req.Header.Set("Authorization", c.token)
		req.Header.Set("Content-Type", c.kind)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != c.status {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
		p.Changed("end")
		ctx, stop := context.WithCancel(t.Context())
		var got []string
		first := true
		err := p.Watch(ctx, func(keys []string) {
			if !first {
				got = keys
				stop()
			}
			first = false
		})
		if i := slices.Index(got, "end"); i >= 0 {
			got = slices.Delete(got, i, i+1)
		}
		if err != nil || (got == nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v, expected %q", c.name, got, err, c.want)
		}
	}
}
