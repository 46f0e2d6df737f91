package bucket_test

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/bucket"
)

// A version that has been replaced is never read under the old hash and length.
func TestOpenVersion(t *testing.T) {
	each(t, func(t *testing.T, b objects, publish func(bucket.Options) *published) {
		p := publish(bucket.Options{})
		content := strings.Repeat("0123456789", 300_000)
		b.Put(t, "a", content)
		p.scan(t, resourcesync.ScanResult{Created: 1})
		r := p.listed(t)["a"]
		opened, err := p.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer opened.Close()
		for _, at := range []int64{1_000_001, 0, 2_999_999, 3_000_000, 5} {
			if _, err := opened.(io.Seeker).Seek(at, io.SeekStart); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(io.LimitReader(opened, 20))
			if want := content[at:min(at+20, 3_000_000)]; string(got) != want || err != nil {
				t.Errorf("at %d: %q, %v, expected %q", at, got, err, want)
			}
		}
		b.Put(t, "a", strings.ToUpper(content[:len(content)-1])+"x") // as long, in the same second
		if _, err := opened.(io.Seeker).Seek(1_000_000, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(opened); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%d bytes of another version, %v", len(got), err)
		}
		for range 2 {
			if got, err := p.read(t.Context(), r); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			b.Delete(t, "a")
		}
	})
}
