package rshttp_test

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// A listened set records the ranges that are read.
type listened struct {
	*memory.Set
	ranges []resourcesync.Range
}

func (l *listened) Resources(ctx context.Context, r resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	l.ranges = append(l.ranges, r)
	return l.Set.Resources(ctx, r)
}

// keyed returns a set with a resource for each key, whose URI has a form.
func keyed(t *testing.T, form string, keys ...string) *listened {
	t.Helper()
	set := memory.New(nil)
	for _, k := range keys {
		if err := set.Put(t.Context(), resourcesync.Resource{Key: k, URI: fmt.Sprintf(form, (&url.URL{Path: k}).EscapedPath())}); err != nil {
			t.Fatal(err)
		}
	}
	return &listened{Set: set}
}

// TestPageSearch: Resource Lists are searched by the beginning of the key or of the URI. Where the
// text has one meaning, a page reads one range of keys.
func TestPageSearch(t *testing.T) {
	const origin = "https://example.org"
	var keys []string
	for i := range 400 {
		keys = append(keys, fmt.Sprintf("b/%03d ü", i))
	}
	set := keyed(t, origin+"/papers/%s", append(keys, "a", "b", "c/1", "d\u00ff")...)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 100}}, rshttp.Set{Provider: set})
	list := "/resourcesync/resourcelist.html"
	links := anchors(getPage(t, src, list), "")
	part := slices.IndexFunc(links, func(uri string) bool { return strings.Contains(uri, "/resourcelist/") })
	for _, path := range []string{list, links[part]} {
		if html := getPage(t, src, path); !strings.Contains(html, `action="https://example.org`+list+`"><label for="begin">Path begins with <span class="uri">/papers/</span></label>`) {
			t.Errorf("%s has no field:\n%s", path, html)
		}
	}
	for begin, want := range map[string]int{
		"b/": 400, "b": 401, "b/01": 10, "/papers/b/012": 1, origin + "/papers/b/01": 10, "b/012 ü": 1, "c/1": 1, "d\u00ff": 1, "B": 0, "a/": 0, " b/01 ": 10, "/papers/": 404, "zzz": 0,
	} {
		set.ranges = nil
		rows, pages := rowsOf(t, src, list+"?begin="+url.QueryEscape(begin))
		if len(rows) != want {
			t.Errorf("%q: %d rows, want %d", begin, len(rows), want)
		}
		if n := len(set.ranges); n != pages {
			t.Errorf("%q: %d ranges for %d pages: %q", begin, n, pages, set.ranges)
		}
	}
	for begin, want := range map[string]int{
		"b/01%30": 1, "b/010%20%c3%BC": 1, origin + "/papers/b/010%20%C3%BC": 1, "/papers/d%c3%bf": 1, "d%C3": 1, "%62/": 400, // escapes
		"/papers": 404, "/pap": 404, "/": 404, origin: 404, "https://exam": 404, origin + "/%70apers": 404, "/a": 0, "/paper/": 0, "https://other.test/": 0,
		"b/%zz": 0, "b%2": 0, "%ff": 0,
	} {
		if rows, _ := rowsOf(t, src, list+"?begin="+url.QueryEscape(begin)); len(rows) != want {
			t.Errorf("%q: %d rows, want %d", begin, len(rows), want)
		}
	}
	for begin, want := range map[string]string{"zzz<": "Nothing begins with “zzz&lt;”.", "b/01": "10 resources found", "b": "150 resources on this page"} {
		if html := getPage(t, src, list+"?begin="+url.QueryEscape(begin)); !strings.Contains(html, want) {
			t.Errorf("%q does not say %q:\n%s", begin, want, html)
		}
	}
	reads := func(path string, want int) {
		t.Helper()
		set.ranges = nil
		if getPage(t, src, path); len(set.ranges) != want {
			t.Errorf("%s reads %q, want %d ranges", path, set.ranges, want)
		}
	}
	reads(list, 0) // the field is known
	reads(links[part], 1)
	for _, test := range []struct{ form, key, begin string }{
		{origin + "/%%C3%%BC/%s", "k", "/ü/k"},
		{origin + "/%%C3%%BC/%s", "k", "/%c3%bc"},
		{origin + "/papers/%s", "100%25", "100%25"}, // a name with a percent sign
		{origin + "/papers/%s", "100%25", "100%2525"},
		{origin + "/papers%s", "/p", "/p"}, // a key, not /papers
	} {
		src := newSource(t, nil, rshttp.Set{Provider: keyed(t, test.form, test.key, "zzz")})
		if rows, _ := rowsOf(t, src, list+"?begin="+url.QueryEscape(test.begin)); len(rows) == 0 || test.begin != "/%c3%bc" && len(rows) != 1 {
			t.Errorf("%+v: %q", test, rows)
		}
	}

	for form, want := range map[string]string{
		origin + "/%s":          `Path begins with <span class="uri">/</span>`,
		origin + "/post?id=%s":  `Key begins with <span class="uri">/post?id=</span>`,
		"https://other.test/%s": `Path begins with <span class="uri">https://other.test/</span>`,
		origin + "/%s.html":     "",
	} {
		src := newSource(t, nil, rshttp.Set{Provider: keyed(t, form, "k1", "k2")})
		html := getPage(t, src, list)
		if has := strings.Contains(html, `role="search"`); has != (want != "") || !strings.Contains(html, want) {
			t.Errorf("%s: want %q:\n%s", form, want, html)
		}
		if want == "" {
			if res := get(t, src, list+"?begin=k"); res.StatusCode != 404 {
				t.Errorf("%s: a search is answered %d", form, res.StatusCode)
			}
		}
	}
	for _, uri := range []string{list + "?begin=%ff", list + "?begin=" + strings.Repeat("a", 5000)} {
		if res := get(t, src, uri); res.StatusCode != 404 {
			t.Errorf("%.60s: %d", uri, res.StatusCode)
		}
	}
}
