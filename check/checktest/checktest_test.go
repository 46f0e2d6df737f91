package checktest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/check/checktest"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/topic/hub"
)

const base = "https://example.org/"

func resource(i int) resourcesync.Resource {
	text := text(i)
	return resourcesync.Resource{
		Key: fmt.Sprintf("%03d", i), URI: fmt.Sprintf("%spapers/%03d", base, i), Type: "text/plain",
		Length: resourcesync.Bytes(int64(len(text))), LastModified: time.Date(2025, 1, 1, 0, 0, i, 0, time.UTC),
		Hashes: []resourcesync.Hash{{Algorithm: "sha-256", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}},
	}
}

func text(i int) string { return fmt.Sprintf("paper %03d", i) }

// papers serves the resources.
func papers(w http.ResponseWriter, r *http.Request) {
	key, ok := strings.CutPrefix(r.URL.Path, "/papers/")
	if !ok || strings.HasSuffix(key, "gone") {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, "paper "+key)
}

// shelf has the contents of the resources, for dumps.
type shelf struct{}

func (shelf) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("paper " + r.Key)), nil
}

// TestOwnSource holds that Sources of this module break no rule: one document or many, with
// dumps, channels, a hub and several sets.
func TestOwnSource(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	for _, tt := range []struct {
		name  string
		n     int
		o     rshttp.Options
		names []string
	}{
		{"empty", 0, rshttp.Options{}, []string{""}},
		{"one document", 5, rshttp.Options{}, []string{""}},
		{"parts", 60, rshttp.Options{Division: rshttp.Division{PageSize: 7}, Sitemaps: rshttp.PlainSitemaps, DescribedBy: base + "about"}, []string{"a", "b"}},
		{"hub", 60, rshttp.Options{Division: rshttp.Division{PageSize: 20}, Hub: &hub.Options{}}, []string{"papers"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sets []rshttp.Set
			for _, name := range tt.names {
				set := memory.New(nil)
				for i := range tt.n {
					if err := set.Put(t.Context(), resource(i)); err != nil {
						t.Fatal(err)
					}
				}
				for i := 0; i < tt.n; i += 3 {
					if err := set.Delete(t.Context(), fmt.Sprintf("%03d", i)); err != nil {
						t.Error(err)
					}
				}
				sets = append(sets, rshttp.Set{Name: name, Provider: set, Opener: shelf{}})
			}
			tt.o.Logger = quiet
			src, err := rshttp.New(base+"resourcesync/", sets, &tt.o)
			if err != nil {
				t.Fatal(err)
			}
			if tt.o.Hub != nil {
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- src.Run(ctx) }()
				defer func() { stop(); <-ended }()
			}
			report := checktest.Source(t, src.Wrap(http.HandlerFunc(papers)), base, &check.Options{All: true})
			for _, f := range report.Findings {
				t.Errorf("%s: %s: %s", f.Rule, f.Document, f.Message)
			}
			if want := int64(len(tt.names) * (tt.n - (tt.n+2)/3)); report.Documents < 4 || report.Resources < want {
				t.Errorf("%d documents and %d resources, of which the Resource Lists have %d", report.Documents, report.Resources, want)
			}
		})
	}
}
