package rshttp_test

import (
	"context"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// versioned is a table whose versions are digests of its resources.
type versioned struct{ *table }

func (v versioned) Stat(ctx context.Context, r resourcesync.Range) (resourcesync.Stat, error) {
	parts, err := inParts{v, 0}.StatParts(ctx, r)
	if err != nil {
		return resourcesync.Stat{}, err
	}
	st := resourcesync.Stat{LastModified: newYear, Version: parts[0].Version}
	for res, err := range v.Resources(ctx, r) {
		if err != nil {
			return st, err
		}
		st.Count++
		if res.LastModified.After(st.LastModified) {
			st.LastModified = res.LastModified
		}
	}
	return st, nil
}

// inParts is versioned with parts: keys with the same first digits.
type inParts struct {
	versioned
	digits int
}

func (p inParts) StatParts(ctx context.Context, r resourcesync.Range) ([]resourcesync.Part, error) {
	parts := []resourcesync.Part{{From: r.From}}
	var h hash.Hash64
	for res, err := range p.Resources(ctx, r) {
		if err != nil {
			return nil, err
		}
		if begin := res.Key[:p.digits]; begin > parts[len(parts)-1].From {
			parts = append(parts, resourcesync.Part{From: begin})
			h = nil
		}
		if h == nil {
			h = fnv.New64a()
		}
		fmt.Fprintln(h, res.URI, res.LastModified)
		parts[len(parts)-1].Version = strconv.FormatUint(h.Sum64(), 36)
	}
	return parts, nil
}

// TestParts: while a set grows from nothing until it is divided, and shrinks again, each
// document that reuses parts of an earlier one equals the document rendered as a whole.
func TestParts(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	rows := tableOf(0)
	scale := needs.Size(1, 4)
	pageSize := 500 * scale
	options := &rshttp.Options{Division: rshttp.Division{PageSize: pageSize}, Sitemaps: rshttp.PlainSitemaps}
	cold := *options
	cold.Limits.CacheBytes = -1
	warm := newSource(t, options, rshttp.Set{Provider: inParts{versioned{rows}, 4}})
	change := func(n int) {
		for range n {
			key := fmt.Sprintf("%06d", rnd.IntN(5000*scale))
			switch found := rows.resources[key]; {
			case rnd.IntN(3) == 0:
				delete(rows.resources, key)
			case rnd.IntN(40) == 0 && found.Key != "":
				found.URI = "/cannot/be/listed"
				rows.resources[key] = found
			default:
				rows.put(key, newYear.AddDate(0, 0, rnd.IntN(100)))
			}
		}
	}
	indexed, single := 0, 0
	for round := range 60 {
		switch {
		case round < 20:
			change(15 * scale)
		case round < 40:
			change(3)
		case round < 50:
			change(100 * scale)
		default:
			for key := range rows.resources {
				if rnd.IntN(3) == 0 {
					delete(rows.resources, key)
				}
			}
		}
		whole := newSource(t, &cold, rshttp.Set{Provider: versioned{rows}})
		for _, path := range []string{"/resourcesync/resourcelist.xml", "/resourcesync/sitemap.xml"} {
			body := text(t, get(t, warm, path))
			if strings.Contains(body, "<sitemapindex") {
				indexed++
				continue // its pages depend on earlier ones
			}
			single++
			got, want := get(t, warm, path, "Accept-Encoding", "gzip"), get(t, whole, path, "Accept-Encoding", "gzip")
			for _, field := range []string{"ETag", "Last-Modified", "Content-Length"} {
				if got.Header.Get(field) != want.Header.Get(field) {
					t.Errorf("round %d, %s: %s is %q, want %q", round, path, field, got.Header.Get(field), want.Header.Get(field))
				}
			}
			if text(t, got) != text(t, want) || body != text(t, get(t, whole, path)) {
				t.Fatalf("round %d: %s differs", round, path)
			}
		}
	}
	if indexed == 0 || single < 60 {
		t.Errorf("%d indexes, %d lists", indexed, single)
	}
}

// TestPartsOfJournal: the parts of a journal do not describe the resources of another
// provider, because the journal may lag behind them.
func TestPartsOfJournal(t *testing.T) {
	rows, journalled := tableOf(2000), tableOf(2000)
	src := newSource(t, nil, rshttp.Set{Provider: rows, Changer: laggingJournal{memory.New(nil), inParts{versioned{journalled}, 4}}})
	text(t, get(t, src, index))
	rows.resources["001000"] = resourcesync.Resource{Key: "001000", URI: "https://example.org/renamed"} // unknown to the journal
	rows.put("001900", newYear.AddDate(0, 1, 0))
	journalled.put("001900", newYear.AddDate(0, 1, 0))
	if body := text(t, get(t, src, index)); !strings.Contains(body, "renamed") || !strings.Contains(body, "2026-02-01") {
		t.Error("the list shows two states of the provider")
	}
}

type laggingJournal struct {
	resourcesync.Changer
	resourcesync.PartStater
}
