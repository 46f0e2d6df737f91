package main

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// TestD17_ManyDeletions deletes half of the files at once while clients keep asking for
// the Resource List and its pages. Every request is answered, and the Change List ends
// with each deletion once.
func TestD17_ManyDeletions(t *testing.T) {
	t.Parallel()
	needs.Time(t)
	folder := t.TempDir()
	c := startCrowd(t, folder, "--rescan", "1s", "--max-delete", "100%", "--page-size", "1000")
	list := c.capabilities()["resourcelist"]
	var (
		clients  sync.WaitGroup
		answered atomic.Int64
		slowest  [3]time.Duration
	)
	ctx, cancel := context.WithCancel(t.Context())
	for i := range slowest {
		clients.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				slowest[i] = max(slowest[i], c.askAll(list, &answered))
			}
		})
	}
	begun := time.Now()
	deleted := make(map[string]int)
	for i := 0; i < c.files; i += 2 {
		name := fileName(i)
		must(t, os.Remove(filepath.Join(folder, name)))
		deleted[name] = 0
	}
	removed := time.Since(begun)
	var changes []string
	for len(changes) < len(deleted) && time.Since(begun) < time.Minute {
		time.Sleep(100 * time.Millisecond)
		changes = c.changes()
	}
	took := time.Since(begun)
	cancel()
	clients.Wait()
	t.Logf("%d of %d files were deleted within %v; the Change List had all deletions after %v; meanwhile %d requests were answered, the slowest after %v",
		len(deleted), c.files, removed, took, answered.Load(), slices.Max(slowest[:]))
	for _, change := range changes {
		what, name, _ := strings.Cut(change, " ")
		if _, found := deleted[name]; what != "deleted" || !found {
			t.Fatalf("listed: %s", change)
		}
		deleted[name]++
	}
	for name, n := range deleted {
		if n != 1 {
			t.Fatalf("%d deletions of %s", n, name)
		}
	}
	if answered.Load() == 0 {
		t.Error("no client has asked")
	}
	if left := len(c.list("resourcelist")); left != c.files-len(deleted) {
		t.Errorf("%d files are listed", left)
	}
	c.checkMemory()
}

// askAll requests a Resource List Index and each of its pages.
func (c *crowd) askAll(index string, answered *atomic.Int64) (slowest time.Duration) {
	ask := func(url string) string {
		begun := time.Now()
		res, err := http.Get(url)
		if err != nil {
			c.t.Error(err)
			return ""
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if res.StatusCode != http.StatusOK || err != nil {
			c.t.Errorf("%s: %s, %v", url, res.Status, err)
		}
		answered.Add(1)
		slowest = max(slowest, time.Since(begun))
		return string(body)
	}
	var d document
	if err := xml.Unmarshal([]byte(ask(index)), &d); err != nil || len(d.Parts) == 0 {
		c.t.Errorf("%s: %d pages, %v", index, len(d.Parts), err)
	}
	for _, page := range d.Parts {
		ask(page.Loc)
	}
	return slowest
}
