package bucket_test

import (
	"log/slog"
	"net/http"
	"testing"

	"github.com/resourcesync-go/resourcesync/adapters/bucket"
	"github.com/resourcesync-go/resourcesync/adapters/bucket/s3bucket"
	"github.com/resourcesync-go/resourcesync/internal/s3test"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/scan/scantest"
)

// TestOrigin: a bucket obeys the contract of an origin.
func TestOrigin(t *testing.T) {
	scantest.Test(t, func(t testing.TB) scantest.Case {
		b := s3test.New(t)
		b.Publish(t, "*")
		for _, key := range []string{"a.txt", "b/c.txt", "b/d.txt", "é %.txt"} {
			b.Put(t, key, "content of "+key)
		}
		return scantest.Case{
			Open: func(t testing.TB) scan.Origin {
				opened := b.Open(t)
				if _, err := opened.IsAccessible(t.Context()); err != nil { // its connection stays open
					t.Fatal(err)
				}
				objects, err := bucket.New(opened, b.Public, &bucket.Options{
					Service: s3bucket.Service{}, Transport: &http.Transport{DisableKeepAlives: true}, Logger: slog.New(slog.DiscardHandler),
				})
				if err != nil {
					t.Fatal(err)
				}
				return objects
			},
			Change: func(t testing.TB) []string {
				b.Put(t, "a.txt", "another content")
				b.Put(t, "new.txt", "new")
				b.Delete(t, "b/c.txt")
				return []string{"a.txt", "b/c.txt", "new.txt"}
			},
		}
	})
}
