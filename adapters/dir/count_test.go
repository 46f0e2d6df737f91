package dir

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestD14_Count: the number of files is that of a scan.
func TestD14_Count(t *testing.T) {
	here := t.TempDir()
	for i, key := range []string{"a", "b/c", "b/d/e", ".hidden", "excluded/f", "b/.git/g"} {
		write(t, here, key, strings.Repeat("x", 1<<i))
	}
	d := openDir(t, here, &Options{Exclude: func(path string, isDir bool) bool { return path == "excluded" }})
	files, bytes, err := d.Count(t.Context())
	if found := complete(t, d); err != nil || files != int64(len(found)) || files != 3 || bytes != 1+2+4 {
		t.Errorf("%d files of %d bytes, %v; a scan lists %d", files, bytes, err, len(found))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := d.Count(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
