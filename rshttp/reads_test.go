package rshttp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// An asked set counts the reads of its state.
type asked struct {
	*memory.Set
	reads []string
}

func (c *asked) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if r == (resourcesync.Range{}) {
		c.reads = append(c.reads, "whole")
	} else {
		c.reads = append(c.reads, "range")
	}
	return c.Set.Stat(ctx, r)
}

func (c *asked) StatParts(ctx context.Context, r resourcesync.Range) ([]resourcesync.Part, error) {
	c.reads = append(c.reads, "parts")
	stat, err := c.Set.Stat(ctx, r)
	return []resourcesync.Part{{From: r.From, Version: stat.Version}}, err
}

// TestReadsOfState: a cold page reads the state of the set, of its range and of its parts once
// each. An unlisted page is not cached, so it needs neither set nor parts. After a change, set and
// range are read once more when it is the turn of the rendering.
func TestReadsOfState(t *testing.T) {
	set := &asked{Set: papers(t)}
	put := func(key, title string) {
		t.Helper()
		if err := set.Put(t.Context(), resourcesync.Resource{Key: key, URI: "https://example.org/papers/" + key, Type: "text/" + title}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 {
		put(fmt.Sprint(i), "plain")
	}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 4}}, rshttp.Set{Provider: set})
	const index = "/resourcesync/resourcelist.xml"
	_, entries := decode(t, src, index)
	page := strings.TrimPrefix(entries[0].Loc, "https://example.org")
	for _, tt := range []struct{ name, changed, path, want string }{
		{"cold page", "", page, "whole range parts"},
		{"warm index", "", index, "whole"},
		{"warm page", "", page, "whole"},
		{"change elsewhere", "9", page, "whole range"},
		{"change of the page", "0", page, "whole range whole range parts"},
		{"unlisted page", "", "/resourcesync/resourcelist/~MQ.xml", "range"},
	} {
		if tt.changed != "" {
			put(tt.changed, "html")
		}
		set.reads = nil
		if res := get(t, src, tt.path); res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s", tt.name, res.Status)
		}
		if got := strings.Join(set.reads, " "); got != tt.want {
			t.Errorf("%s reads %s, want %s", tt.name, got, tt.want)
		}
	}
}
