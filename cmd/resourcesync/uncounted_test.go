package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestUncounted: the rows of a table with a journal are not counted, and no output shows a
// count of -1. No line of the log has the key "set" twice.
func TestUncounted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	db, file := filepath.Join(folder, "cms.db"), filepath.Join(folder, "site.yaml")
	sql(t, db, "CREATE TABLE articles (id INTEGER PRIMARY KEY, title TEXT)")
	args := []string{"--db", db, "--set", "papers", "--table", "articles", "--key", "id", "--uri", "https://example.org/{id}", "--apply"}
	if status, _, stderr := runTriggersCommand(t, args...); status != 0 {
		t.Fatal(stderr)
	}
	sql(t, db, "INSERT INTO articles VALUES (1, 'one')")
	write(t, file, fmt.Sprintf("listen: 127.0.0.1:0\nstatus: 127.0.0.1:0\nstate: %s\nsets:\n"+
		"  - {name: articles, kind: table, db: %s, set: papers, table: articles, key: id, uri: 'https://example.org/{id}'}\n", db, db))
	p := startRun(t, file)
	p.stdout.await("Ready: the rows are listed")
	for line := range strings.Lines(p.stderr.String()) {
		if strings.Count(line, " set=") > 1 {
			t.Errorf("%s", line)
		}
	}
	p.stderr.await("changes are journalled by triggers")
	var stdout, stderr strings.Builder
	url := p.stderr.await(`status for operators" url=(\S+)`)[1]
	if status := run(t.Context(), []string{"status", url}, &stdout, &stderr); status != 0 || !strings.Contains(stdout.String(), "not counted") || strings.Contains(stdout.String(), " -1") {
		t.Errorf("status %d: %s%s", status, &stdout, &stderr)
	}
	if body, status := newCrawler(t).get(url); status != 200 || !strings.Contains(string(body), `"uncounted": true`) || strings.Contains(string(body), " -1") {
		t.Errorf("%d %s", status, body)
	}
}
