package mirror

import (
	"strings"
	"testing"
)

// TestReleaseElsewhere: the command that releases deletions finds the copy from any folder.
func TestReleaseElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	c := &Config{Source: "https://example.org/", Folder: "copy"}
	if got := c.release(); !strings.HasPrefix(got, "resourcesync mirror https://example.org/ /") || !strings.HasSuffix(got, "/copy --max-delete 100%") {
		t.Error(got)
	}
	c.Folder, c.state = "s3://bucket/copy", "state"
	if got := c.release(); !strings.HasPrefix(got, "resourcesync mirror https://example.org/ s3://bucket/copy --state-folder /") {
		t.Error(got)
	}
}
