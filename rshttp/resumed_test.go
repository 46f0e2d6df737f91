package rshttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// An overwritten folder overwrites one of its files in place whenever that file has
// been opened.
type overwritten struct {
	*filed
	key     string
	content []byte // nil to leave it as it is
}

func (o *overwritten) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	content, err := o.filed.Open(ctx, r)
	if err != nil || r.Key != o.key || o.content == nil {
		return content, err
	}
	f, err := os.OpenFile(filepath.Join(o.dir, o.key), os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	_, err = f.WriteAt(o.content, 0)
	return content, err
}

// TestD21_ResumedRangeIsVerified: a range that begins inside a file is aborted if the
// file is not the listed one, even if it has changed only before the range. A range
// that ends inside the file reads no further.
func TestD21_ResumedRangeIsVerified(t *testing.T) {
	const size = 1_000_000
	const at = 2_700_000 // in the third file, more than a buffer behind its beginning
	before := noise(1, size)
	copy(before, "overwritten")
	behind := noise(1, size)
	copy(behind[size-100:], "overwritten")
	for name, content := range map[string][]byte{"as listed": nil, "before the range": before, "in the range": behind} {
		for ranges, verified := range map[string]bool{
			fmt.Sprintf("bytes=%d-", at):                   true,
			fmt.Sprintf("bytes=%d-%d", at, at+size):        true,
			fmt.Sprintf("bytes=0-99,%d-", at):              true,
			fmt.Sprintf("bytes=%d-%d", at, at+100_000):     false,
			fmt.Sprintf("bytes=-%d", 2*size+400_000):       true,
			fmt.Sprintf("bytes=%d-,%d-%d", at, at, at+100): true,
		} {
			t.Run(name+" "+ranges, func(t *testing.T) {
				c := &overwritten{filed: &filed{copiesOf(5, size), t.TempDir()}, key: "000002.bin", content: content}
				for i := range c.n {
					if err := os.WriteFile(filepath.Join(c.dir, fmt.Sprintf("%06d.bin", i)), c.filed.content, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				src := newSource(t, nil, rshttp.Set{Provider: c})
				srv := httptest.NewServer(src)
				defer srv.Close()
				etag := do(t, src, http.MethodHead, wholePath).Header.Get("ETag")
				r, err := http.NewRequest(http.MethodGet, srv.URL+wholePath, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Range", ranges)
				r.Header.Set("If-Range", etag)
				res, err := srv.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				n, err := io.Copy(io.Discard, res.Body)
				if broken := err != nil; res.StatusCode != http.StatusPartialContent || broken != (verified && content != nil) {
					t.Errorf("%s, %d bytes of %d, %v", res.Status, n, res.ContentLength, err)
				}
			})
		}
	}
}
