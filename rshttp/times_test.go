package rshttp_test

import (
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestD3_Times: every change has a lastmod, in Change Lists and in the manifests of
// Change Dumps. The entries of indexes have one, too, and no at.
func TestD3_Times(t *testing.T) {
	s := shelfOf(t, 95, 100)
	if err := s.Delete(t.Context(), "000001.txt"); err != nil {
		t.Error(err)
	}
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10, PackageSize: 100}}, rshttp.Set{Provider: history{s}})
	n := 0
	dated := func(path string) {
		t.Helper()
		_, entries := decode(t, src, path)
		for _, e := range entries {
			if n++; e.LastMod.IsZero() {
				t.Errorf("%s: %s %s has no lastmod", path, e.Metadata.Change, e.Loc)
			}
		}
	}
	_, lists := decode(t, src, "/resourcesync/changelist.xml")
	for _, list := range lists {
		dated(pathOf(list))
	}
	if n != 96 {
		t.Errorf("%d changes", n)
	}
	for _, e := range changePackages(t, src) {
		dated(strings.TrimSuffix(pathOf(e), ".zip") + ".xml")
	}
	for _, index := range []string{"/resourcesync/resourcelist.xml", dumpPath} {
		head, parts := decode(t, src, index)
		if !head.Index || head.Metadata.At.IsZero() {
			t.Errorf("%s: %+v", index, head)
		}
		for _, part := range parts {
			if !part.Metadata.At.IsZero() || part.LastMod.IsZero() {
				t.Errorf("%s: %s at %v, lastmod %v", index, part.Loc, part.Metadata.At, part.LastMod)
			}
		}
	}
}
