package view

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// A field is the field that searches a list, as of a partition of its set. It is immutable.
type field struct {
	pages.Search
	partition uint64 // its number
}

// searchField returns the field that searches the Resource List, or nil if the keys are not the ends
// of URIs or the set is empty. It reads the first resource once for each partition, because a
// database may send many rows after it, although they are not read.
func (v *View) searchField(ctx context.Context) (*pages.Search, error) {
	p, err := v.t.Set.Pages.Get(ctx)
	if err != nil {
		return nil, err
	}
	known := v.fields[v.t.Set]
	if f := known.Load(); f != nil && f.partition == p.Number {
		search := f.Search
		return &search, nil
	}
	for res, err := range checked.Resources(ctx, v.t.Set.Provider, partition.Whole, nil) {
		if err != nil {
			return nil, err
		}
		search := v.fieldOf(res.URI, res.Key)
		if search != nil {
			known.Store(&field{*search, p.Number})
		}
		return search, nil
	}
	return nil, nil
}

// fieldOf returns the field that searches a list with a resource, or nil if its key is not the
// end of its URI: people see URIs only.
func (v *View) fieldOf(uri, key string) *pages.Search {
	before, ok := beforeKey(uri, key)
	if !ok {
		return nil
	}
	f := &pages.Search{URL: v.page(document.KindResourceList, ""), Name: "Key", Before: strings.TrimPrefix(before, v.site.Routes.Origin)}
	if isFolder := strings.HasSuffix(before, "/") || strings.HasPrefix(key, "/"); isFolder && !strings.ContainsAny(before, "?#") {
		f.Name = "Path"
	}
	return f
}

// beforeKey returns what is before the key in a URI, decoded, and whether the URI ends in the key.
func beforeKey(uri, key string) (before string, ok bool) {
	if before, ok = strings.CutSuffix(uri, key); ok {
		return before, true
	}
	decoded, err := url.PathUnescape(uri)
	if err != nil {
		return "", false
	}
	return strings.CutSuffix(decoded, key)
}

// search returns the field with v.Begin, and the range of the keys that begin with it.
func (v *View) search(ctx context.Context) (*pages.Search, resourcesync.Range, error) {
	f, err := v.searchField(ctx)
	if err == nil && f == nil {
		err = v.t.NotExist("a search")
	}
	if err != nil {
		return nil, resourcesync.Range{}, err
	}
	f.Value = v.Begin
	begin, err := v.beginning(ctx, f.Before)
	return f, partition.Beginning(begin), err
}

// beginning returns the beginning of keys that v.Begin means: its first reading that is the beginning
// of a key, or the first one if none is. before is what is before the keys in URIs.
func (v *View) beginning(ctx context.Context, before string) (string, error) {
	all := readings(v.Begin, v.site.Routes.Origin, before)
	if len(all) == 1 {
		return all[0], nil
	}
	for _, begin := range all {
		for _, err := range checked.Resources(ctx, v.t.Set.Provider, partition.Beginning(begin), nil) {
			return begin, err
		}
	}
	return all[0], nil
}

// readings returns what text may mean as the beginning of a key. People give a key or a URI, as a
// page shows it or with escapes, and with or without its origin.
func readings(text, origin, before string) []string {
	all := []string{withoutBefore(text, origin, before)}
	if decoded, err := url.PathUnescape(text); err == nil && decoded != text {
		all = append(all, withoutBefore(decoded, origin, before))
	}
	if isURI := strings.HasPrefix(text, "/") || strings.Contains(text, "://"); isURI {
		text, before = decode(text), decode(before)
		if strings.HasPrefix(before, text) || strings.HasPrefix(origin+before, text) {
			all = append(all, "") // all URIs begin with text
		}
	}
	return slices.Compact(all)
}

// withoutBefore returns text without what is before the keys in URIs.
func withoutBefore(text, origin, before string) string {
	text = strings.TrimPrefix(text, origin)
	if key, ok := strings.CutPrefix(text, before); ok {
		return key
	}
	return strings.TrimPrefix(text, decode(before))
}

// decode returns text without escapes, or text if one of them is not valid.
func decode(text string) string {
	if decoded, err := url.PathUnescape(text); err == nil {
		return decoded
	}
	return text
}
