package rsxml

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// tolerate decodes data tolerantly.
func tolerate(data string) (h Head, entries []Entry, reports []string, err error) {
	d := NewDecoder(strings.NewReader(data))
	d.Tolerate(func(e *SyntaxError) { reports = append(reports, e.Error()) })
	h, _ = d.Head()
	for e, failed := range d.Entries() {
		if err = failed; err == nil {
			entries = append(entries, e)
		}
	}
	return h, entries, reports, err
}

// checkTolerance holds that the decoders are one: a document without reports is one that
// the strict decoder accepts and reads the same, and the first report or else the error is
// that of the strict decoder.
func checkTolerance(t *testing.T, data string) {
	t.Helper()
	strictHead, strict, strictErr := decode(data)
	h, entries, reports, err := tolerate(data)
	if strictErr == nil {
		if err != nil || len(reports) > 0 || !reflect.DeepEqual(h, strictHead) || !reflect.DeepEqual(entries, strict) {
			t.Errorf("the strict decoder accepts it, the tolerant one reports %q, %v and reads\n%+v\n%+v\nwant\n%+v\n%+v", reports, err, h, entries, strictHead, strict)
		}
		return
	}
	if err != nil {
		reports = append(reports, err.Error())
	}
	if len(reports) == 0 || reports[0] != strictErr.Error() {
		t.Errorf("reports %q, want %q first", reports, strictErr)
	}
	for _, e := range entries {
		if e.Loc == "" {
			t.Error("yields an entry without a loc")
		}
	}
}

func TestTolerateBadDocuments(t *testing.T) {
	for _, bad := range slices.Concat(notDocuments, badDocuments) {
		t.Run(bad.name, func(t *testing.T) {
			data := strings.Replace(bad.data, "▮", "", 1)
			checkTolerance(t, data)
		})
	}
	for _, bad := range badDocuments {
		if _, _, _, err := tolerate(strings.Replace(bad.data, "▮", "", 1)); err != nil && strings.HasSuffix(bad.data, "</urlset>") {
			t.Errorf("%s: %v, although it is well-formed", bad.name, err)
		}
	}
}

// TestTolerateReads decodes the valid parts of documents that break rules.
func TestTolerateReads(t *testing.T) {
	at := date("2025-05-01T12:00:00Z")
	for _, test := range []struct {
		name, data string
		want       Entry
	}{
		{"no namespace", `<urlset><url><loc>b:1</loc></url></urlset>`, Entry{Loc: "b:1"}},
		{"https", `<urlset xmlns="https://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>b:1</loc></url></urlset>`, Entry{Loc: "b:1"}},
		{"old namespace", `<urlset xmlns="http://www.google.com/schemas/sitemap/0.84"><url><loc>b:1</loc></url></urlset>`, Entry{Loc: "b:1"}},
		{"undeclared prefix", `<urlset xmlns="` + SitemapNS + `"><rs:md capability="resourcelist" at="2025"/><url><loc>b:1</loc><rs:md length="3"/></url></urlset>`,
			Entry{Loc: "b:1", Metadata: Metadata{Length: resourcesync.Bytes(3)}}},
		{"terms in https", `<urlset xmlns="` + SitemapNS + `" xmlns:rs="https://www.openarchives.org/rs/terms"><rs:md capability="resourcelist" at="2025"/><url><loc>b:1</loc><rs:md rs:length="3"/></url></urlset>`,
			Entry{Loc: "b:1", Metadata: Metadata{Length: resourcesync.Bytes(3)}}},
		{"entry of an index", resourceList + `<sitemap><loc>b:1</loc></sitemap></urlset>`, Entry{Loc: "b:1"}},
		{"metadata first", resourceList + `<url><rs:md length="3"/><lastmod>2025-05-01 12:00:00</lastmod><loc> b:1 </loc></url></urlset>`,
			Entry{Loc: "b:1", LastMod: at, Metadata: Metadata{Length: resourcesync.Bytes(3)}}},
		{"metadata twice", resourceList + `<url><loc>b:1</loc><rs:md length="3"/><rs:md length="4"/></url></urlset>`,
			Entry{Loc: "b:1", Metadata: Metadata{Length: resourcesync.Bytes(3)}}},
		{"bad values", resourceList + `<url><loc>b:1</loc><lastmod>yesterday</lastmod><changefreq>often</changefreq><rs:md length="-1" hash="abc md5:d" change="new"/></url></urlset>`,
			Entry{Loc: "b:1", Metadata: Metadata{Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "d"}}}}},
		{"hashes with commas", resourceList + `<url><loc>b:1</loc><rs:md hash="md5:d, ,sha-1,sha-256:e"/></url></urlset>`,
			Entry{Loc: "b:1", Metadata: Metadata{Hashes: []resourcesync.Hash{{Algorithm: "md5", Digest: "d"}, {Algorithm: "sha-256", Digest: "e"}}}}},
		{"links", resourceList + `<url><loc>b:1</loc><rs:ln rel="up"/><rs:ln rel="describedby" href="/a b" pri="x"><a/></rs:ln></url></urlset>`,
			Entry{Loc: "b:1", Links: []resourcesync.Link{{Rel: "describedby", Href: "/a b"}}}},
		{"strange URIs", resourceList + `<url><loc>/a file</loc></url></urlset>`, Entry{Loc: "/a file"}},
		{"no loc", resourceList + `<url/><url><loc/></url><url><loc>b:1</loc></url></urlset>`, Entry{Loc: "b:1"}},
		{"unknown elements", resourceList + `<uri><loc>b:0</loc></uri>text<url>text<loc>b:1<b>2</b></loc><title>A</title></url><rs:md capability="x"/></urlset>text<a/>`, Entry{Loc: "b:1"}},
		{"document type", `<!DOCTYPE urlset [<!ENTITY a "b">]>` + resourceList + `<url><loc>b:1</loc></url></urlset>`, Entry{Loc: "b:1"}},
		{"capability of an index", sitemapindex + `<rs:md capability="changelist-notification" until="2025"/><sitemap><loc>b:1</loc></sitemap></sitemapindex>`, Entry{Loc: "b:1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, entries, reports, err := tolerate(test.data)
			if err != nil || len(entries) != 1 || !reflect.DeepEqual(entries[0], test.want) {
				t.Errorf("got %+v, %v, want %+v", entries, err, test.want)
			}
			if len(reports) == 0 && test.name != "capability of an index" {
				t.Error("no report")
			}
			checkTolerance(t, test.data)
		})
	}
}

// TestTolerateExamples reads the examples of 1.0 without errors.
func TestTolerateExamples(t *testing.T) {
	for _, file := range documents(t, goldenDir) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := tolerate(string(data)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		checkTolerance(t, string(data))
	}
}

func TestSimilarDatetime(t *testing.T) {
	for _, s := range []string{
		"2025-05-01 12:30:15Z", "2025-05-01 12:30:15", "2025-05-01T12:30:15", "2025-05-01T14:30:15+0200", "2025-05-01 14:30:15+02:00",
		"2025-05-01t12:30:15z", "2025-05-01 12:30:15 +0000", "2025-05-01 12:30:15 UTC", "2025-5-1 12:30:15",
	} {
		if got := similarDatetime(s); !got.Equal(date("2025-05-01T12:30:15Z")) {
			t.Errorf("%s: got %v", s, got)
		}
	}
	if got := similarDatetime("2025-05-01T12:30:15,250"); !got.Equal(date("2025-05-01T12:30:15.25Z")) {
		t.Errorf("with a comma: got %v", got)
	}
	for _, s := range []string{"", "yesterday", "01.05.2025", "2025-13-01", "2025-05-01T25:00:00", strings.Repeat("9", 1000)} {
		if got := similarDatetime(s); !got.IsZero() {
			t.Errorf("%s: got %v", s, got)
		}
	}
}

// TestTolerateLong reads a document with more entries than the limit, in memory that does
// not depend on them, and reports it once.
func TestTolerateLong(t *testing.T) {
	entry := `<url><loc>https://example.org/` + strings.Repeat("a", 1500) + `</loc></url>`
	const count = MaxEntries + 1000
	parts := make([]io.Reader, 0, count+2)
	parts = append(parts, strings.NewReader(resourceList))
	for range count {
		parts = append(parts, strings.NewReader(entry))
	}
	parts = append(parts, strings.NewReader(`</urlset>`))
	d := NewDecoder(io.MultiReader(parts...))
	var reports []*SyntaxError
	d.Tolerate(func(e *SyntaxError) { reports = append(reports, e) })
	n := 0
	for _, err := range d.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != count || len(reports) != 2 {
		t.Errorf("%d entries and reports %v, want %d and one for each limit", n, reports, count)
	}
}

// TestTolerateLimits keeps the limit of an entry.
func TestTolerateLimits(t *testing.T) {
	_, _, _, err := tolerate(resourceList + `<url><loc>` + strings.Repeat("a", maxElement))
	if syntax, ok := errors.AsType[*SyntaxError](err); !ok || syntax.Section != ownLimit {
		t.Errorf("got %v, want an error of the limit", err)
	}
}

// TestTolerateEnd reports a document whose last bytes exceed the limit, once.
func TestTolerateEnd(t *testing.T) {
	const entry = `<url><loc>https://example.org/</loc></url>`
	for after, want := range map[string]int{"": 0, "\n": 1, entry: 1} {
		data := resourceList + entry + after + `</urlset>`
		d := NewDecoder(strings.NewReader(data))
		d.src.document = MaxBytes - len(resourceList+entry+`</urlset>`)
		var reports []*SyntaxError
		d.Tolerate(func(e *SyntaxError) { reports = append(reports, e) })
		for _, err := range d.Entries() {
			if err != nil {
				t.Fatal(err)
			}
		}
		if len(reports) != want || want > 0 && reports[0].ID != "document-size" {
			t.Errorf("with %q: %v", after, reports)
		}
	}
}

func FuzzTolerate(f *testing.F) {
	for _, file := range documents(f, goldenDir) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	for _, bad := range slices.Concat(notDocuments, badDocuments) {
		f.Add(strings.Replace(bad.data, "▮", "", 1))
	}
	f.Add(fullXML)
	f.Fuzz(checkTolerance)
}

func ExampleDecoder_Tolerate() {
	d := NewDecoder(strings.NewReader(`<urlset xmlns="` + SitemapNS + `" xmlns:rs="` + TermsNS + `">
  <rs:md capability="changelist" from="2025-05-01T00:00:00Z"/>
  <url><loc>https://example.org/a</loc><lastmod>2025-05-01 10:00:00</lastmod><rs:md change="updated"/></url>
</urlset>`))
	d.Tolerate(func(e *SyntaxError) { fmt.Println(e) })
	for e, err := range d.Entries() {
		line, column := d.Position()
		fmt.Println(line, column, e.Loc, e.LastMod.Format(time.RFC3339), err)
	}
	// Output:
	// rsxml: line 3, column 40: lastmod is "2025-05-01 10:00:00", not a W3C Datetime in the years 0000 to 9999 (Core 7)
	// 3 3 https://example.org/a 2025-05-01T10:00:00Z <nil>
}
