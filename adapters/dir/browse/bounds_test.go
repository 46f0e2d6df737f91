package browse_test

import (
	"context"
	"fmt"
	"html"
	"iter"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir/browse"
)

func TestPages(t *testing.T) {
	var want []string
	for i := range 450 {
		name := fmt.Sprintf("%04d.txt", i)
		if i%3 == 0 {
			name = fmt.Sprintf("%04d/", i)
		}
		want = append(want, name)
	}
	s := newSite(t)
	for _, name := range want {
		if strings.HasSuffix(name, "/") {
			s.write(t, "sub/"+name+"a")
			name += "b"
		}
		s.write(t, "sub/"+name)
	}
	s.scan(t)
	for target, n := range map[string]int{"/pub/sub/": 3, "/pub/sub/?after=0199.txt": 2, "/pub/sub/?after=0249/": 1} {
		var got []string
		pages := 0
		for ; target != ""; pages++ {
			page := s.do("GET", target).Body.String()
			got = append(got, names(page)...)
			if strings.Contains(page, ">First page<") != strings.Contains(target, "after=") {
				t.Errorf("%s: wrong link to the first page", target)
			}
			target = next(page)
		}
		if pages != n || !slices.Equal(got, want[len(want)-len(got):]) {
			t.Errorf("%d pages with %d entries, expected %d", pages, len(got), n)
		}
	}
}

func TestSearch(t *testing.T) {
	s := newSite(t, "Report.pdf", "report-1.txt", "report-2/x.txt", "sub/My-report.txt", "sub/REPORTS/y.txt", "sub/REPORTS/z.txt", "sub/other/report/report.txt", "z.txt").scan(t)
	for _, test := range []struct {
		target string
		names  []string
	}{
		{"/pub/?q=report", []string{"report-1.txt", "report-2/", "Report.pdf", "sub/My-report.txt", "sub/REPORTS/", "sub/other/report/", "sub/other/report/report.txt"}},
		{"/pub/?q=Report", []string{"Report.pdf", "report-1.txt", "report-2/", "sub/My-report.txt", "sub/REPORTS/", "sub/other/report/", "sub/other/report/report.txt"}},
		{"/pub/?q=+/sub/my+", []string{"sub/My-report.txt"}},
		{"/pub/?q=sub/o", []string{"sub/other/", "sub/other/report/", "sub/other/report/report.txt"}},
		{"/pub/sub/?q=report", []string{"My-report.txt", "REPORTS/", "other/report/", "other/report/report.txt"}},
		{"/pub/sub/?q=report&after=REPORTS/y.txt", []string{"other/report/", "other/report/report.txt"}},
		{"/pub/?q=.txt", []string{"report-1.txt", "report-2/x.txt", "sub/My-report.txt", "sub/REPORTS/y.txt", "sub/REPORTS/z.txt", "sub/other/report/report.txt", "z.txt"}},
		{"/pub/?q=nothing", nil},
		{"/pub/?q=%3Cscript%3E", nil},
	} {
		w := s.do("GET", test.target)
		if got := names(w.Body.String()); !slices.Equal(got, test.names) {
			t.Errorf("%s: got %q, expected %q", test.target, got, test.names)
		}
		if next(w.Body.String()) != "" {
			t.Errorf("%s has a next page", test.target)
		}
	}
}

// A many is a set of n files, each of which exists. It counts the files that are read.
type many struct {
	n, read int
	err     error
}

func (m *many) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Count: int64(m.n)}, m.err
}

func (m *many) First(ctx context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		if m.err != nil {
			yield(resourcesync.Resource{}, m.err)
			return
		}
		for i := range m.n {
			if key := fmt.Sprintf("file-%07d", i); r.Contains(key) {
				if n--; n < 0 || !yield(resourcesync.Resource{Key: key}, nil) {
					return
				}
				m.read++
			}
		}
	}
}

func (m *many) Folder(ctx context.Context, _ string, r resourcesync.Range, n int) (found []resourcesync.Resource, err error) {
	for res, err := range m.First(ctx, r, n) {
		if err != nil {
			return nil, err
		}
		found = append(found, res)
	}
	return found, nil
}

// TestBounds: a page reads a bounded number of files.
func TestBounds(t *testing.T) {
	set := &many{n: 100_000}
	s := newSite(t, "file-0009999", "file-0010000", "file-0099999")
	s.Handler = browse.Handler(s.dir, set, nil)
	for target, most := range map[string]int{
		"/pub/":                             201,
		"/pub/?after=file-0050000":          201,
		"/pub/?q=file":                      51 + 10_000,
		"/pub/?q=99999":                     10_000,
		"/pub/?q=none&after=file-0020000":   10_000,
		"/pub/?q=file-00999&after=file-001": 10_000,
	} {
		set.read = 0
		if w := s.do("GET", target); w.Code != 200 || set.read > most {
			t.Errorf("%s: %d, %d files read, expected at most %d", target, w.Code, set.read, most)
		}
	}
	target, pages := "/pub/?q=999", 0
	var got []string
	for ; target != ""; pages++ {
		page := s.do("GET", target).Body.String()
		got = append(got, names(page)...)
		target = next(page)
		if target != "" && !strings.Contains(page, "10,000 files searched, up to file-00") {
			t.Errorf("%s: the page does not say what has been searched", target)
		}
	}
	if want := []string{"file-0009999", "file-0099999"}; pages < 10 || pages > 11 || !slices.Equal(got, want) {
		t.Errorf("%d pages, %q, expected %q", pages, got, want)
	}
	// Beginnings of names are found at once.
	if got := names(s.do("GET", "/pub/?q=file-009999").Body.String()); !slices.Equal(got, []string{"file-0099999"}) {
		t.Errorf("got %q", got)
	}
}

// sorted is a set of files.
type sorted []string

func (s sorted) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{Count: int64(len(s))}, nil
}

func (s sorted) First(_ context.Context, r resourcesync.Range, n int) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, key := range s {
			if r.Contains(key) {
				if n--; n < 0 || !yield(resourcesync.Resource{Key: key}, nil) {
					return
				}
			}
		}
	}
}

func (s sorted) Folder(_ context.Context, folder string, r resourcesync.Range, n int) (entries []resourcesync.Resource, err error) {
	last := ""
	for _, key := range s {
		rest, ok := strings.CutPrefix(key, folder)
		if !ok || !r.Contains(key) {
			continue
		}
		if name, _, isFolder := strings.Cut(rest, "/"); isFolder {
			key = folder + name + "/"
		}
		if key != last && len(entries) < n {
			entries, last = append(entries, resourcesync.Resource{Key: key}), key
		}
	}
	return entries, nil
}

// FuzzQuery: every query yields a page whose entries are in the folder and contain the text.
func FuzzQuery(f *testing.F) {
	for _, seed := range [][2]string{{"", ""}, {"a", ""}, {"b/c", "a.txt"}, {"../", "b/"}, {"\xff", "\xff"}, {"\xe8", "0"}, {"/X", "0"}, {"<script>", "\x00"}, {"É", "b/d/e.txt"}} {
		f.Add(seed[0], seed[1])
	}
	keys := sorted{"A<b>.txt", "a.txt", "b/c.txt", "b/d/e.txt", "b/d/é.txt", "b/é/x"}
	s := newSite(f, keys...)
	s.Handler = browse.Handler(s.dir, keys, nil) // a database is slow to fuzz
	f.Fuzz(func(t *testing.T, q, after string) {
		w := s.do("GET", "/pub/b/?"+url.Values{"q": {q}, "after": {after}}.Encode())
		page := w.Body.String()
		if w.Code != 200 || strings.Contains(page, "<script") || strings.Contains(page, "about:invalid") {
			t.Fatalf("%d %s", w.Code, page)
		}
		find := strings.TrimPrefix(strings.ToValidUTF8(strings.TrimSpace(q), ""), "/") // as the page shows it
		for _, m := range links.FindAllStringSubmatch(page, -1) {
			if !strings.HasPrefix(m[1], "/pub/b/") {
				t.Errorf("an entry outside of the folder: %s", m[1])
			}
			if name := html.UnescapeString(m[2]); len(q) < 200 && !strings.Contains(strings.ToLower("/"+name), strings.ToLower(find)) {
				t.Errorf("%q does not contain %q", name, find)
			}
		}
	})
}

func BenchmarkPage(b *testing.B) {
	s := newSite(b)
	for i := range 2000 {
		s.write(b, fmt.Sprintf("deep/down/here/file-%05d.txt", i))
	}
	s.scan(b)
	for _, target := range []string{"/pub/deep/down/here/", "/pub/?q=7.txt"} {
		b.Run(target, func(b *testing.B) {
			for b.Loop() {
				if w := s.do("GET", target, "Accept-Encoding", "gzip"); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}
