package sitemap

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnsaved: while the progress of visits cannot be saved, that is one line, and another when it
// is saved again.
func TestUnsaved(t *testing.T) {
	var log bytes.Buffer
	s := &Site{copies: &copies{folder: filepath.Join(t.TempDir(), "missing")}, log: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		s.saveRotation(&rotation{})
	}
	if got := strings.Count(log.String(), "is not saved"); got != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("logged\n%s", &log)
	}
	if err := os.Mkdir(s.copies.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.saveRotation(&rotation{})
	}
	if got := strings.Count(log.String(), "is saved again"); got != 1 || strings.Count(log.String(), "\n") != 2 {
		t.Errorf("logged\n%s", &log)
	}
}
