package rshttp_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A mended history has patches, by the targets of the links to them.
type mended struct {
	history
	patches map[string]string
}

func (m mended) OpenPatch(_ context.Context, c resourcesync.Change, l resourcesync.Link) (io.ReadCloser, error) {
	content, ok := m.patches[l.Href]
	if !ok || c.Type != resourcesync.Updated || c.Resource.Key == "" {
		return nil, &fs.PathError{Op: "open", Path: l.Href, Err: fs.ErrNotExist}
	}
	return io.NopCloser(strings.NewReader(content)), nil
}

// Checksum would also return the checksums of resources for patches.
func (m mended) Checksum(_ context.Context, r resourcesync.Resource) (uint32, error) {
	if strings.Contains(r.URI, "patch") {
		return 1, nil
	}
	return 0, errors.ErrUnsupported
}

// patchTo returns a link to the patch at href that has this content.
func patchTo(href, content string) resourcesync.Link {
	r := describe("", []byte(content))
	return resourcesync.Link{Rel: resourcesync.RelPatch, Href: href, Hashes: r.Hashes, Length: r.Length, Type: "application/json-patch"}
}

// mendedShelf has a resource that was changed three times by patches, of which two
// have the same URI, and then deleted.
func mendedShelf(t *testing.T) mended {
	m := mended{history{newShelf(t)}, map[string]string{}}
	put := func(content string, links ...resourcesync.Link) {
		r := describe("a.txt", []byte(content))
		m.keep(r.Hashes[0], []byte(content))
		r.Links = append([]resourcesync.Link{{Rel: resourcesync.RelDescribedBy, Href: "https://example.org/about"}}, links...)
		if err := m.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	for href, content := range map[string]string{"https://example.org/patch/1": "+two", "https://example.org/patch/2": "s/two/three/", "https://example.org/patch/3": strings.Repeat("x", 5000)} {
		m.patches[href] = content
	}
	patch := func(href string) resourcesync.Link { return patchTo(href, m.patches[href]) }
	put("two", patch("https://example.org/patch/1"))
	put("three", patch("https://example.org/patch/2"), patch("https://example.org/patch/3"))
	put("four", patch("https://example.org/patch/2"))
	if err := m.Delete(t.Context(), "a.txt"); err != nil {
		t.Error(err)
	}
	return m
}

// TestPatches: the packages of a Change Dump hold the patches that changes link, and
// the manifest gives their paths (section 14.4).
func TestPatches(t *testing.T) {
	m := mendedShelf(t)
	src := newSource(t, nil, rshttp.Set{Provider: m})
	first := firstChanges(t, src, m.Set)
	b := text(t, get(t, src, first+".zip"))
	z, err := zip.NewReader(strings.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if length, _ := changePackages(t, src)[0].Metadata.Length.Bytes(); length != int64(len(b)) {
		t.Errorf("%d bytes in the dump, %d in the package", length, len(b))
	}
	if inside, err := fs.ReadFile(z, "manifest.xml"); err != nil || string(inside) != text(t, get(t, src, first+".xml")) {
		t.Errorf("the manifest inside is another: %v", err)
	}
	_, entries := decode(t, src, first+".xml")
	paths := map[string]bool{}
	for i, want := range []int{0, 1, 2, 1, 0} {
		patches := 0
		for _, l := range entries[i].Links {
			if l.Rel != resourcesync.RelPatch {
				if l.Path != "" {
					t.Errorf("%+v is in the package", l)
				}
				continue
			}
			patches++
			content, err := fs.ReadFile(z, strings.TrimPrefix(l.Path, "/"))
			if err != nil || string(content) != m.patches[l.Href] || !strings.HasPrefix(l.Path, "/patches/") || l.Type != "application/json-patch" {
				t.Errorf("%+v: %q, %v", l, content, err)
			}
			paths[l.Path] = true
		}
		if patches != want || i < 4 && len(entries[i].Links) != want+1 {
			t.Errorf("change %d has %d patches, want %d: %+v", i, patches, want, entries[i].Links)
		}
	}
	if len(paths) != 4 || len(z.File) != 1+4+4 {
		t.Errorf("%d paths of patches, %d files", len(paths), len(z.File))
	}
	if links := text(t, get(t, src, "/resourcesync/changelist.xml")); strings.Count(links, resourcesync.RelPatch) != 4 || strings.Contains(links, "path=") {
		t.Errorf("the Change List: %s", links)
	}
}

// TestNoPatches: a manifest has no link to a patch that is not in the package.
func TestNoPatches(t *testing.T) {
	h := mendedShelf(t).history
	src := newSource(t, nil, rshttp.Set{Provider: h})
	first := firstChanges(t, src, h.Set)
	manifest := text(t, get(t, src, first+".xml"))
	if strings.Contains(manifest, resourcesync.RelPatch) || strings.Count(manifest, "describedby") != 4 {
		t.Error(manifest)
	}
	if res := get(t, src, first+".zip"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
}

// TestLostPatch: a patch that does not match its link is left out.
func TestLostPatch(t *testing.T) {
	for name, content := range map[string]string{"lost": "", "another": "s/two/3/    "} {
		m := mendedShelf(t)
		if m.patches["https://example.org/patch/2"] = content; content == "" {
			delete(m.patches, "https://example.org/patch/2")
		}
		src := newSource(t, nil, rshttp.Set{Provider: m})
		first := firstChanges(t, src, m.Set)
		if !isBrokenOff(t, src, first+".zip") {
			t.Errorf("%s: sent", name)
		}
		if res := get(t, src, first+".zip"); res.StatusCode != 503 {
			t.Errorf("%s, after the failed transfer: %s", name, res.Status)
		}
	}
}

// TestPatchesAtOneInstant: two resources that one patch changes at the same time each
// have a copy of it, and patches count towards the size of a package.
func TestPatchesAtOneInstant(t *testing.T) {
	m := mended{history{newShelf(t)}, map[string]string{"https://example.org/patch": string(noise(1, 600))}}
	var changes []resourcesync.Change
	for i := range 6 {
		content := []byte(fmt.Sprint("content ", i))
		r := describe(fmt.Sprint(i%2), content)
		m.keep(r.Hashes[0], content)
		r.Links = []resourcesync.Link{patchTo("https://example.org/patch", m.patches["https://example.org/patch"])}
		changes = append(changes, resourcesync.Change{Type: resourcesync.Updated, Datetime: newYear.Add(time.Duration(i/2) * time.Second), Resource: r})
	}
	// A later change closes their package.
	later := changes[0]
	later.Datetime = newYear.Add(2 * time.Hour)
	changes = append(changes, later)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PackageSize: 1000}}, rshttp.Set{Provider: wrong{}, Changer: coarse(changes), ChangeOpener: m})
	entries := changePackages(t, src)
	if len(entries) != 3 { // one for each instant
		t.Errorf("%d packages", len(entries))
	}
	for _, e := range entries {
		b := text(t, get(t, src, pathOf(e)))
		z, err := zip.NewReader(bytes.NewReader([]byte(b)), int64(len(b)))
		if err != nil || len(z.File) != 1+2+2 {
			t.Errorf("%s: %v", e.Loc, err)
		}
	}
}

// TestPatchesHaveTheirPlace: if a store keeps a link to a patch on a resource, the link
// is shown with updates only (section 14.4).
func TestPatchesHaveTheirPlace(t *testing.T) {
	m := mended{history{newShelf(t)}, map[string]string{"https://example.org/patch": "+two"}}
	diff := patchTo("https://example.org/patch", "+two")
	vague := diff
	vague.Href, vague.Type = "https://example.org/vague", ""
	for _, content := range []string{"one", "two"} {
		r := describe("a.txt", []byte(content))
		m.keep(r.Hashes[0], []byte(content))
		r.Links = []resourcesync.Link{{Rel: resourcesync.RelDescribedBy, Href: "https://example.org/about"}, diff, vague}
		if err := m.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	src := newSource(t, &rshttp.Options{Sitemaps: rshttp.PlainSitemaps}, rshttp.Set{Provider: m})
	first := firstChanges(t, src, m.Set)
	for path, want := range map[string]int{
		"/resourcesync/resourcelist.xml":   0,
		"/resourcesync/sitemap.xml":        0,
		"/resourcesync/resourcedump/~.xml": 0,
		"/resourcesync/changelist.xml":     1,
		first + ".xml":                     1,
	} {
		_, entries := decode(t, src, path)
		patches, others := 0, 0
		for _, e := range entries {
			for _, l := range e.Links {
				if l.Rel != resourcesync.RelPatch {
					others++
				} else if patches++; e.Metadata.Change != resourcesync.Updated || l.Href != diff.Href {
					t.Errorf("%s: %q links to %+v", path, e.Metadata.Change, l)
				}
			}
		}
		if patches != want {
			t.Errorf("%s has %d links to patches, and should have %d", path, patches, want)
		}
		if others == 0 && !strings.Contains(path, "sitemap") {
			t.Errorf("%s has lost the other links", path)
		}
	}
	if res := get(t, src, first+".zip"); res.StatusCode != 200 {
		t.Error(res.Status)
	}
}
