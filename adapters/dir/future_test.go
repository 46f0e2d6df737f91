package dir

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/changes"
)

// TestD3_FutureFile: a file from the future is served without a Last-Modified, and does
// not change when its time comes.
func TestD3_FutureFile(t *testing.T) {
	here := t.TempDir()
	write(t, here, "a.txt", "a")
	path := filepath.Join(here, "a.txt")
	soon := time.Now().Add(time.Hour)
	must(t, os.Chtimes(path, soon, soon))
	var recorded resourcesync.Resource
	d := openDir(t, here, nil)
	d.known = func(_ context.Context, keys []string) ([]resourcesync.Resource, error) {
		return []resourcesync.Resource{recorded}, nil
	}
	if got := serve(d, http.MethodGet, base+"a.txt", nil).Header().Get("Last-Modified"); got != "" {
		t.Errorf("Last-Modified: %q", got)
	}
	found := complete(t, d)["a.txt"]
	if recorded = *changes.Recorded(&found, 0, time.Now); !recorded.LastModified.IsZero() {
		t.Errorf("recorded with LastModified %v", recorded.LastModified)
	}
	// The same file, and a store that has recorded its time as unknown.
	if again := complete(t, d)["a.txt"]; !again.Equal(recorded) {
		t.Errorf("the unchanged file is %+v, recorded as %+v", again, recorded)
	}
	write(t, here, "a.txt", "b")
	if now := complete(t, d)["a.txt"]; now.LastModified.IsZero() {
		t.Error("after it was written again, its time is still unknown")
	}
}
