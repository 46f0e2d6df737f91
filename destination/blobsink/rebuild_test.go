package blobsink_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/blobsink"
)

// A source lists contents, with hashes except for those whose names end with a hyphen, and counts the requests
// for them.
type source struct {
	*httptest.Server

	mu       sync.Mutex
	contents map[string]string
	requests map[string]int
}

func newSource(t *testing.T, contents map[string]string) *source {
	s := &source{contents: maps.Clone(contents), requests: make(map[string]int)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *source) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const head = `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">`
	s.mu.Lock()
	defer s.mu.Unlock()
	switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
	case ".well-known/resourcesync":
		fmt.Fprintf(w, `%s<rs:md capability="capabilitylist"/><url><loc>%s/list.xml</loc><rs:md capability="resourcelist"/></url></urlset>`, head, s.URL)
	case "list.xml":
		fmt.Fprint(w, head, `<rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>`)
		for name, text := range s.contents {
			hash := ""
			if !strings.HasSuffix(name, "-") {
				hash = fmt.Sprintf(` hash="sha-256:%x"`, sha256.Sum256([]byte(text)))
			}
			fmt.Fprintf(w, `<url><loc>%s/%s</loc><rs:md length="%d"%s/></url>`, s.URL, name, len(text), hash)
		}
		fmt.Fprint(w, "</urlset>")
	default:
		text, ok := s.contents[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		s.requests[name]++
		fmt.Fprint(w, text)
	}
}

// take returns the numbers of requests since the last call.
func (s *source) take() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = make(map[string]int)
	return requests
}

// sync brings the copy in b up to date, with its state in a folder.
func (s *source) sync(t *testing.T, b *blob.Bucket, o destination.Options) *destination.Report {
	t.Helper()
	sink, err := blobsink.New(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	o.Logger = slog.New(slog.DiscardHandler)
	d, err := destination.New(s.URL, sink, &o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := d.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The state of a copy in a bucket is lost or damaged. Objects that the Source has are adopted: without a
// request, if they have hashes. Others are named, and replaced only with Replace.
func TestRebuild(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, state string){
		"lost": func(t *testing.T, state string) {
			if err := os.RemoveAll(state); err != nil {
				t.Fatal(err)
			}
		},
		"damaged": func(t *testing.T, state string) {
			name := filepath.Join(state, "state.db")
			text, err := os.ReadFile(name)
			if err == nil {
				err = os.WriteFile(name, bytes.Repeat([]byte("?"), len(text)), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, b *blob.Bucket) {
				contents := map[string]string{"a": "A", "folder/b": "B", "unhashed-": "C", "edited": "D", "lost": "E", "large": strings.Repeat("large", 100_000)}
				src := newSource(t, contents)
				o := destination.Options{State: filepath.Join(t.TempDir(), "state")}
				if r := src.sync(t, b, o); r.Created != int64(len(contents)) || r.Failed != 0 {
					t.Fatalf("%+v", r)
				}
				lose(t, o.State)
				for key, text := range map[string]string{"edited": "mine", "of no resource": "mine, too"} {
					if err := b.WriteAll(t.Context(), key, []byte(text), nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := b.Delete(t.Context(), "lost"); err != nil {
					t.Fatal(err)
				}
				src.take()
				o.Rebuild = true
				r := src.sync(t, b, o)
				if r.Adopted != 4 || r.Created != 1 || r.Failed != 1 || len(r.Failures) != 1 || !strings.Contains(r.Failures[0].Error, "edited has different content") {
					t.Errorf("%+v", r)
				}
				if got, want := src.take(), map[string]int{"unhashed-": 1, "lost": 1}; !maps.Equal(got, want) {
					t.Errorf("requests: %v, want %v", got, want)
				}
				contents["edited"], contents["of no resource"] = "mine", "mine, too"
				wantObjects(t, b, contents)

				o.Replace = true
				if r := src.sync(t, b, o); r.Adopted+r.Created != 1 || r.Failed != 0 {
					t.Errorf("with Replace: %+v", r)
				}
				contents["edited"] = "D"
				wantObjects(t, b, contents)
				o.Rebuild, o.Replace = false, false
				if r := src.sync(t, b, o); r.Created+r.Updated+r.Deleted+r.Failed != 0 || r.Resources != 6 {
					t.Errorf("afterwards: %+v", r)
				}
			})
		})
	}
}

// wantObjects fails unless a bucket has these objects, and the marker.
func wantObjects(t *testing.T, b *blob.Bucket, want map[string]string) {
	t.Helper()
	objects := b.List(nil)
	n := 0
	for o, err := objects.Next(t.Context()); err == nil; o, err = objects.Next(t.Context()) {
		if o.Key == ".resourcesync" {
			continue
		}
		n++
		if text, err := b.ReadAll(t.Context(), o.Key); err != nil || string(text) != want[o.Key] {
			t.Errorf("%s is %.20q, %v", o.Key, text, err)
		}
	}
	if n != len(want) {
		t.Errorf("%d objects, want %d", n, len(want))
	}
}
