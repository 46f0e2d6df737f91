package rshttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A flaky set fails at the calls of Stat that are listed.
type flaky struct {
	*memory.Set
	calls int
	fails func(call int) bool
}

func (f *flaky) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	if f.calls++; f.fails(f.calls) {
		return resourcesync.Stat{}, errors.New("connection lost")
	}
	return f.Set.Stat(ctx, r)
}

// TestPageOfFailingSet: if one call to a set's database fails, its page neither panics nor
// says that the set is being prepared.
func TestPageOfFailingSet(t *testing.T) {
	for failing := range 6 {
		set := &flaky{Set: papers(t, "a"), fails: func(call int) bool { return call == failing+1 }}
		for _, path := range []string{"/resourcesync/capabilitylist.html", "/resourcesync/description.html"} {
			var log bytes.Buffer
			src := newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: set})
			set.calls = 0
			res := get(t, src, path)
			html := text(t, res)
			if strings.Contains(log.String(), "panic") {
				t.Errorf("%s, call %d of Stat fails: %s", path, failing+1, &log)
			}
			if res.StatusCode != 200 && res.StatusCode != 503 || strings.Contains(html, "Being prepared") {
				t.Errorf("%s, call %d of Stat fails: %d", path, failing+1, res.StatusCode)
			}
		}
	}
}

// TestPageSize: pages stay small although their URIs and types have characters that
// need several bytes in HTML.
func TestPageSize(t *testing.T) {
	for _, sign := range []string{"+", "%3C", "&", "'", "%22", "%2B", "%00", "%F0%9F%98%80", "%C2%AD"} {
		set := memory.New(nil)
		for i := range 200 {
			r := resourcesync.Resource{Key: fmt.Sprintf("%04d", i), URI: fmt.Sprintf("https://example.org/%04d/%s", i, strings.Repeat(sign, 600/len(sign))), Type: "application/" + strings.Repeat("+", 48)}
			if err := set.Put(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		src := newSource(t, nil, rshttp.Set{Provider: set})
		for _, path := range []string{"/resourcesync/resourcelist.html", "/resourcesync/changelist.html", "/resourcesync/capabilitylist.html"} {
			getPage(t, src, path)
		}
	}
}

// TestPagePosition: a position that no page links to is refused before the request
// waits for its turn.
func TestPagePosition(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: papers(t, "a")})
	for _, name := range []string{"resourcelist", "changelist", "capabilitylist"} {
		if res := get(t, src, "/resourcesync/"+name+".html?after="+strings.Repeat("%00", 200_000)); res.StatusCode != 404 {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
}
