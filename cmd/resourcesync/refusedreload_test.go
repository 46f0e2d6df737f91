package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefusedReload: the status names a refused reload as a problem until one succeeds. The Source
// is healthy.
func TestRefusedReload(t *testing.T) {
	t.Parallel()
	in := t.TempDir()
	write(t, filepath.Join(in, "files", "a.txt"), "a")
	file := filepath.Join(in, "site.yaml")
	text := fmt.Sprintf("listen: 127.0.0.1:0\nstatus: 127.0.0.1:0\nstate: %s\nsets: [{name: papers, kind: folder, folder: %s}]\n", filepath.Join(in, "state.db"), filepath.Join(in, "files"))
	write(t, file, text)
	p := startRun(t, file)
	p.stdout.await("Ready")
	p.reload(file, strings.Replace(text, "kind:", "knd:", 1), "configuration not reloaded")
	code, now := p.toldOperators()
	if code != 503 || len(now.Problems) != 1 || !strings.HasPrefix(now.Problems[0], "the configuration was not reloaded at ") || !strings.Contains(now.Problems[0], "did you mean kind") {
		t.Errorf("%d %q", code, now.Problems)
	}
	if res, body := p.get("resourcesync/healthz"); res.StatusCode != 200 {
		t.Errorf("%s %s", res.Status, body)
	}
	p.reload(file, text, "configuration reloaded")
	if code, now := p.toldOperators(); code != 200 {
		t.Errorf("%d %q", code, now.Problems)
	}
}
