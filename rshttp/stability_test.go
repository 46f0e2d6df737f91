package rshttp_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// snapshot is a Destination's copy of every page of a Resource List.
type snapshot map[string]string // entity tag and body by path

func pagesOf(t *testing.T, src *rshttp.Source) snapshot {
	t.Helper()
	out := snapshot{}
	const index = "/resourcesync/resourcelist.xml"
	res := get(t, src, index)
	etag, body := res.Header.Get("ETag"), text(t, res)
	out[index] = etag + body
	_, entries, err := rsxml.Decode(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		path := strings.TrimPrefix(e.Loc, "https://example.org")
		res := get(t, src, path)
		out[path] = res.Header.Get("ETag") + res.Header.Get("Last-Modified") + text(t, res)
	}
	return out
}

// TestStability: one insert, update or deletion among the resources of ten pages affects only
// its page and the index. Every other page keeps its URL, its bytes and its validators.
func TestStability(t *testing.T) {
	now := newYear
	set := memory.New(&memory.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	pageSize := needs.Size(1000, 10_000)
	all := make([]resourcesync.Resource, 10*pageSize)
	for i := range all {
		all[i] = resource(fmt.Sprintf("%06d", i*100_000/len(all)))
	}
	if err := set.Put(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: pageSize}}, rshttp.Set{Provider: set})
	before := pagesOf(t, src)
	if len(before) != 11 {
		t.Fatalf("%d documents", len(before))
	}
	for _, tt := range []struct {
		name   string
		change func() error
	}{
		{"insert", func() error { return set.Put(t.Context(), resource("054321-new")) }},
		{"update", func() error { r := resource("054320"); r.Type = "text/plain"; return set.Put(t.Context(), r) }},
		{"delete", func() error { return set.Delete(t.Context(), "054320") }},
		{"insert at the end", func() error { return set.Put(t.Context(), resource("zzz")) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.change(); err != nil {
				t.Fatal(err)
			}
			// After a division, the set is not divided again for nine times as long.
			var after snapshot
			for deadline := time.Now().Add(needs.Patience); ; time.Sleep(20 * time.Millisecond) {
				after = pagesOf(t, src)
				if after["/resourcesync/resourcelist.xml"] != before["/resourcesync/resourcelist.xml"] {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the index never changed")
				}
			}
			var changed []string
			for path, doc := range after {
				if before[path] != doc {
					changed = append(changed, path)
				}
			}
			if len(changed) != 2 || len(after) != len(before) {
				t.Errorf("%d documents changed: %v", len(changed), changed)
			}
			before = after
		})
	}
}

// fingerprint returns the bytes and validators of all documents of a fixed state.
func fingerprint(t *testing.T) string {
	now := newYear
	set := memory.New(&memory.Options{Now: func() time.Time { now = now.Add(time.Minute); return now }})
	for i := range 2000 {
		r := resource(fmt.Sprintf("%d", i*7919%2000))
		r.Hashes = []resourcesync.Hash{{Algorithm: "md5", Digest: fmt.Sprintf("%032x", i)}}
		if err := set.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if i%5 == 0 {
			if err := set.Delete(t.Context(), fmt.Sprint(i/3)); err != nil {
				t.Error(err)
			}
		}
	}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 100}, Sitemaps: rshttp.PlainSitemaps}, rshttp.Set{Provider: set})
	sum := sha256.New()
	var follow func(path string)
	follow = func(path string) {
		for _, coding := range []string{"gzip", "identity"} {
			res := get(t, src, path, "Accept-Encoding", coding)
			fmt.Fprintln(sum, path, res.Header.Get("ETag"), res.Header.Get("Last-Modified"), text(t, res))
		}
		_, entries, err := rsxml.Decode(get(t, src, path).Body)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if path := strings.TrimPrefix(e.Loc, "https://example.org"); strings.HasPrefix(path, "/resourcesync/") {
				follow(path)
			}
		}
	}
	follow("/.well-known/resourcesync")
	follow("/resourcesync/sitemap.xml")
	return hex.EncodeToString(sum.Sum(nil))
}

// TestSameStateSameBytes renders one state twice in this process and once in
// another.
func TestSameStateSameBytes(t *testing.T) {
	here := fingerprint(t)
	if os.Getenv("RSHTTP_TEST_FINGERPRINT") != "" {
		fmt.Println("fingerprint", here)
		return
	}
	if again := fingerprint(t); again != here {
		t.Errorf("rendered twice: %s and %s", here, again)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestSameStateSameBytes$", "-test.count=1")
	cmd.Env = append(os.Environ(), "RSHTTP_TEST_FINGERPRINT=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "fingerprint "+here) {
		t.Errorf("another process: %s, here %s", out, here)
	}
}
