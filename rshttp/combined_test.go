package rshttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A combined set opens the content of its resources by another value.
type combined struct {
	*memory.Set
	with any
}

func (c combined) Upgrades() []any { return []any{nil, c.with} }

type reader struct{}

func (reader) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(r.Key)), nil
}

func TestCombined(t *testing.T) {
	for _, c := range []struct {
		name  string
		with  any
		dumps bool
	}{
		{"with an Opener", reader{}, true},
		{"with another value", 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			src, err := rshttp.New("http://example.org/rs/", []rshttp.Set{{Provider: combined{memory.New(nil), c.with}}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			src.ServeHTTP(w, httptest.NewRequest("GET", "http://example.org/rs/capabilitylist.xml", nil))
			if got := strings.Contains(w.Body.String(), `capability="resourcedump"`); w.Code != http.StatusOK || got != c.dumps {
				t.Errorf("status %d, lists a Resource Dump: %t, want %t\n%s", w.Code, got, c.dumps, w.Body)
			}
		})
	}
}
