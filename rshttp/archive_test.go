package rshttp_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// cabinet has snapshots: for each archive, its number of documents, a day apart.
type cabinet map[resourcesync.Capability]int

func (c cabinet) Archives() (all []resourcesync.Capability) {
	for archive := range c {
		all = append(all, archive)
	}
	return all
}

func (c cabinet) Snapshots(ctx context.Context, archive resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		for day := range c[archive] {
			if err := ctx.Err(); err != nil {
				yield(resourcesync.Snapshot{}, err)
				return
			}
			at := newYear.AddDate(0, 0, day)
			v := resourcesync.Snapshot{URI: fmt.Sprintf("https://example.org/kept/%s-%d.xml", archive, day+1)}
			switch archive {
			case resourcesync.ResourceListArchive:
				v.At = at
			case resourcesync.ResourceDumpArchive:
				v.At, v.Completed, v.LastModified = at, at.Add(time.Minute), at.Add(time.Hour)
			default:
				v.Interval = resourcesync.Interval{From: at, Until: at.AddDate(0, 0, 1)}
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

func TestD9_Archives(t *testing.T) {
	src := newSource(t, nil, rshttp.Set{Provider: papers(t, "a"), Archiver: cabinet{
		resourcesync.ResourceListArchive: 2,
		resourcesync.ResourceDumpArchive: 1,
		resourcesync.ChangeListArchive:   1,
		resourcesync.ChangeDumpArchive:   0,
	}})
	const begin = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
<rs:ln rel="up" href="https://example.org/resourcesync/capabilitylist.xml"/>
`
	for _, tt := range []struct{ path, want string }{
		{"/resourcesync/resourcelistarchive.xml", begin + `<rs:md capability="resourcelist-archive"/>
<url>
<loc>https://example.org/kept/resourcelist-archive-1.xml</loc>
<rs:md at="2026-01-01T00:00:00Z"/>
</url>
<url>
<loc>https://example.org/kept/resourcelist-archive-2.xml</loc>
<rs:md at="2026-01-02T00:00:00Z"/>
</url>
</urlset>
`},
		{"/resourcesync/resourcedumparchive.xml", begin + `<rs:md capability="resourcedump-archive"/>
<url>
<loc>https://example.org/kept/resourcedump-archive-1.xml</loc>
<lastmod>2026-01-01T01:00:00Z</lastmod>
<rs:md at="2026-01-01T00:00:00Z" completed="2026-01-01T00:01:00Z"/>
</url>
</urlset>
`},
		{"/resourcesync/changelistarchive.xml", begin + `<rs:md capability="changelist-archive"/>
<url>
<loc>https://example.org/kept/changelist-archive-1.xml</loc>
<rs:md from="2026-01-01T00:00:00.000000Z" until="2026-01-02T00:00:00.000000Z"/>
</url>
</urlset>
`},
		{"/resourcesync/changedumparchive.xml", begin + `<rs:md capability="changedump-archive"/>
</urlset>
`},
	} {
		res := get(t, src, tt.path)
		if got := text(t, res); res.StatusCode != http.StatusOK || got != tt.want {
			t.Errorf("%s: %s\n%s\nwant:\n%s", tt.path, res.Status, got, tt.want)
		}
		if res := get(t, src, tt.path, "If-None-Match", res.Header.Get("Etag")); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s, asked again: %s", tt.path, res.Status)
		}
	}
	list := text(t, get(t, src, "/resourcesync/capabilitylist.xml"))
	for _, c := range []string{"resourcelist", "resourcedump", "changelist", "changedump"} {
		want := `<loc>https://example.org/resourcesync/` + c + `archive.xml</loc>
<rs:md capability="` + c + `-archive"/>`
		if !strings.Contains(list, want) {
			t.Errorf("Capability List lacks %s:\n%s", want, list)
		}
	}
	for _, path := range []string{"/resourcesync/resourcelist.xml", "/resourcesync/changelist.xml"} {
		want := `<rs:ln rel="archives" href="https://example.org` + strings.TrimSuffix(path, ".xml") + `archive.xml"/>`
		if got := text(t, get(t, src, path)); !strings.Contains(got, want) {
			t.Errorf("%s lacks %s:\n%s", path, want, got)
		}
	}
}

// TestD9_ArchiveIndex: an archive of more documents than a page holds is an index. Its
// pages stay where they are when documents are added.
func TestD9_ArchiveIndex(t *testing.T) {
	kept := cabinet{resourcesync.ChangeListArchive: 25}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}}, rshttp.Set{Provider: papers(t, "a"), Archiver: kept})
	read := func() (pages []string, documents int) {
		index := text(t, get(t, src, "/resourcesync/changelistarchive.xml"))
		h, entries, err := rsxml.Decode(strings.NewReader(index))
		if err != nil || !h.Index {
			t.Fatalf("index %v: %v\n%s", h.Index, err, index)
		}
		for _, e := range entries {
			path := strings.TrimPrefix(e.Loc, "https://example.org")
			h, listed, err := rsxml.Decode(strings.NewReader(text(t, get(t, src, path))))
			if err != nil || len(listed) == 0 || len(listed) > 10 {
				t.Fatalf("%s: %d documents, %v", path, len(listed), err)
			}
			if h.Links[1].Rel != resourcesync.RelIndex {
				t.Errorf("%s: links are %v", path, h.Links)
			}
			for _, l := range listed {
				documents++
				if want := fmt.Sprintf("https://example.org/kept/changelist-archive-%d.xml", documents); l.Loc != want {
					t.Errorf("%s: got %s, want %s", path, l.Loc, want)
				}
			}
			pages = append(pages, e.Loc)
		}
		return pages, documents
	}
	before, n := read()
	if n != 25 {
		t.Errorf("%d documents in %d pages, want 25", n, len(before))
	}
	kept[resourcesync.ChangeListArchive] = 26
	after, n := read()
	if n != 26 || strings.Join(after[:len(before)-1], " ") != strings.Join(before[:len(before)-1], " ") {
		t.Errorf("with one more: %d documents\n%v\nbefore:\n%v", n, after, before)
	}
	res := get(t, src, "/resourcesync/changelistarchive/20000101T000000.000000000Z.xml")
	if link := res.Header.Get("Link"); res.StatusCode != http.StatusGone || !strings.Contains(link, "/changelistarchive.xml") {
		t.Errorf("a page that does not exist: %s, Link %q", res.Status, link)
	}
}

func TestD9_ArchiverContract(t *testing.T) {
	if _, err := rshttp.New(base, []rshttp.Set{{Provider: tableOf(1), Archiver: cabinet{resourcesync.ResourceList: 1}}}, &rshttp.Options{Logger: quiet()}); err == nil {
		t.Error("an archive of an unknown kind is accepted")
	}
	src := newSource(t, nil, rshttp.Set{Provider: tableOf(1), Archiver: backwards{}})
	if res := get(t, src, "/resourcesync/resourcelistarchive.xml"); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("out of order: %s", res.Status)
	}
	plain := newSource(t, nil, rshttp.Set{Provider: tableOf(1)})
	if res := get(t, plain, "/resourcesync/resourcelistarchive.xml"); res.StatusCode != http.StatusNotFound {
		t.Errorf("without an Archiver: %s", res.Status)
	}
	if got := text(t, get(t, plain, "/resourcesync/capabilitylist.xml")); strings.Contains(got, "archive.xml") {
		t.Errorf("without an Archiver, the Capability List is\n%s", got)
	}
}

type backwards struct{}

func (backwards) Archives() []resourcesync.Capability {
	return []resourcesync.Capability{resourcesync.ResourceListArchive}
}

func (backwards) Snapshots(context.Context, resourcesync.Capability) iter.Seq2[resourcesync.Snapshot, error] {
	return func(yield func(resourcesync.Snapshot, error) bool) {
		_ = yield(resourcesync.Snapshot{URI: "https://example.org/2", At: newYear.AddDate(0, 0, 1)}, nil) &&
			yield(resourcesync.Snapshot{URI: "https://example.org/1", At: newYear}, nil)
	}
}
