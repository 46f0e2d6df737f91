package destination_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// A dated Source is a script whose responses have the Date of its clock. The entity tag of a page
// is its text, and it counts the requests for resources that were answered with content.
type dated struct {
	*script         // its mu guards these fields too
	date     string // in the format of http.TimeFormat, or "" for the present time
	plain    bool   // its answers have no entity tags
	contents []string
	requests []string // for resources
}

// set sets the time, and whether responses lack entity tags.
func (s *dated) set(date string, plain bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date, s.plain = date, plain
}

// taken returns the requests for resources since the last call, and those that were answered with
// content.
func (s *dated) taken() (requests, contents []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requests, contents = s.requests, s.contents
	s.requests, s.contents = nil, nil
	return requests, contents
}

func newDated(t *testing.T, pages map[string]string) (*dated, string) {
	t.Helper()
	s := &dated{script: &script{pages: make(map[string]string)}}
	maps.Copy(s.pages, pages)
	return s, serve(t, s.ServeHTTP).URL
}

func (s *dated) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.answered(w, r) {
		return
	}
	s.script.ServeHTTP(w, r)
}

// answered records the request, sets the headers of the response, and answers 304 if the client
// already has the page.
func (s *dated) answered(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.date != "" {
		w.Header().Set("Date", s.date)
	}
	text, ok := s.pages[r.URL.Path]
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", text))
	resource := !strings.HasSuffix(r.URL.Path, ".xml") && !strings.HasPrefix(r.URL.Path, "/.well-known") && r.URL.Path != "/robots.txt"
	if resource {
		s.requests = append(s.requests, r.URL.Path)
	}
	if ok && !s.plain {
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	if resource && ok {
		s.contents = append(s.contents, r.URL.Path)
	}
	return false
}

// documentOf returns a list. Its entries are like "created a 2013-01-05T10:00:00Z", with a time, or
// a lastmod that begins with "=", or neither. Entries of a Resource List have no type.
func documentOf(capability, times string, entries ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `%s<rs:md capability="%s" %s/>`, openURLSet, capability, times)
	for _, e := range entries {
		f := strings.Fields(e)
		fmt.Fprintf(&b, `<url><loc>BASE/%s</loc>`, f[1])
		md := ""
		if f[0] != "listed" {
			md = fmt.Sprintf(` change="%s"`, f[0])
		}
		for _, attr := range f[2:] {
			switch {
			case attr[0] == '=':
				fmt.Fprintf(&b, `<lastmod>%s</lastmod>`, attr[1:])
			case strings.Contains(attr, "="):
				md += " " + attr
			default:
				md += fmt.Sprintf(` datetime="%s"`, attr)
			}
		}
		fmt.Fprintf(&b, `<rs:md%s/></url>`, md)
	}
	return b.String() + `</urlset>`
}

func changesIn(times string, entries ...string) string {
	return documentOf("changelist", times, entries...)
}
func resourcesAt(at string, entries ...string) string {
	if at != "" {
		at = `at="` + at + `"`
	}
	return documentOf("resourcelist", at, entries...)
}

// A step changes pages of the Source, and expects a copy after the next Sync. A page "-" is
// removed.
type step struct {
	pages map[string]string
	date  string
	want  string // names of resources, or name=content
}

// pass runs the steps of a history. After each step, another Sync requests no content and
// changes nothing.
func pass(t *testing.T, s *dated, url string, steps []step) *mirror {
	t.Helper()
	m := openMirror(t, url, t.TempDir(), &destination.Options{MaxDelete: 1})
	for i, step := range steps {
		s.mu.Lock()
		for path, text := range step.pages {
			if s.pages[path] = text; text == "-" {
				delete(s.pages, path)
			}
		}
		if step.date != "" {
			s.date = step.date
		}
		s.mu.Unlock()
		r := m.sync(t)
		if r.Failed != 0 || r.Held != 0 {
			t.Errorf("step %d: %+v", i, r)
		}
		want := make(map[string]string)
		for _, w := range strings.Fields(step.want) {
			name, content, ok := strings.Cut(w, "=")
			if !ok {
				content = name
			}
			want[name] = content
		}
		if got := files(t, m.dir); !maps.Equal(got, want) {
			t.Errorf("step %d: got %v, want %v", i, got, want)
		}
		s.taken()
		r = m.sync(t)
		if _, contents := s.taken(); r.Failed+r.Created+r.Updated+r.Deleted != 0 || len(contents) != 0 {
			t.Errorf("step %d: one more Sync requests %v: %+v", i, contents, r)
		}
		if got := files(t, m.dir); !maps.Equal(got, want) {
			t.Errorf("step %d: one more Sync makes it %v", i, got)
		}
	}
	return m
}

// history is fullSource with the resources a and b, and further pages.
func history(pages map[string]string) map[string]string {
	all := maps.Clone(fullSource)
	delete(all, "/b c")
	maps.Copy(all, map[string]string{
		"/rl.xml": resourcesAt("2013-01-03T09:00:00Z", "listed a =2013-01-02T13:00:00Z", "listed b =2013-01-02T14:00:00Z"),
		"/a":      "a", "/b": "b", "/c": "c", "/d": "d",
	})
	maps.Copy(all, pages)
	return all
}

// TestMargin has changes before the at of a Resource List that was set after its snapshot, and
// changes that are listed late.
func TestMargin(t *testing.T) {
	const from = `from="2013-01-01T00:00:00Z"`
	for name, steps := range map[string][]step{
		"created before at": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "created c 2013-01-03T08:59:59Z")}, want: "a b c"},
		},
		"created and deleted before at": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "created c 2013-01-03T08:59:58Z", "deleted c 2013-01-03T08:59:59Z"), "/c": "-"}, want: "a b"},
		},
		"deleted before at, gone": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "deleted b 2013-01-03T08:59:59Z"), "/b": "-"}, want: "a"},
		},
		"deleted before at and listed again, still there": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "deleted b 2013-01-03T08:59:59Z")}, want: "a b"},
		},
		"updated before at": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "updated b 2013-01-03T08:59:59Z =2013-01-03T08:59:59Z"), "/b": "B"}, want: "a b=B"},
		},
		"old changes are those of the list": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "created c 2013-01-01T08:00:00Z", "deleted b 2013-01-01T08:00:00Z")}, want: "a b"},
		},
		"after at, deleted and still listed": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "deleted b 2013-01-03T10:00:00Z"), "/b": "-"}, want: "a"},
		},
		"listed late": {
			{date: "Thu, 03 Jan 2013 10:00:00 GMT", pages: map[string]string{"/chl.xml": changesIn(from, "created c 2013-01-03T09:59:00Z")}, want: "a b c"},
			{date: "Thu, 03 Jan 2013 10:05:00 GMT", pages: map[string]string{"/chl.xml": changesIn(from, "created d 2013-01-03T09:58:00Z", "created c 2013-01-03T09:59:00Z")}, want: "a b c d"},
			{pages: map[string]string{"/chl.xml": changesIn(from, "created d 2013-01-03T09:58:00Z", "deleted b 2013-01-03T09:58:30Z", "created c 2013-01-03T09:59:00Z"), "/b": "-"}, want: "a c d"},
		},
		"listed late in another list": {
			{date: "Thu, 03 Jan 2013 10:00:00 GMT", pages: map[string]string{"/chl.xml": changesIn(from, "created c 2013-01-03T09:59:00Z")}, want: "a b c"},
			// This teaches the Destination the lag of a minute.
			{date: "Thu, 03 Jan 2013 10:05:00 GMT", pages: map[string]string{"/chl.xml": changesIn(from, "created c 2013-01-03T09:59:00Z", "updated c 2013-01-03T09:59:30Z"), "/c": "C"}, want: "a b c=C"},
			{date: "Thu, 03 Jan 2013 10:09:00 GMT", pages: map[string]string{
				"/chl.xml": openIndex + `<rs:md capability="changelist" ` + from + `/><sitemap><loc>BASE/1.xml</loc><rs:md ` + from + ` until="2013-01-03T10:08:00Z"/></sitemap>
					<sitemap><loc>BASE/2.xml</loc><rs:md from="2013-01-03T10:08:00Z"/></sitemap></sitemapindex>`,
				"/1.xml": changesIn(from+` until="2013-01-03T10:08:00Z"`, "created c 2013-01-03T09:59:00Z", "updated c 2013-01-03T09:59:30Z", "updated a 2013-01-03T10:08:00Z"),
				"/2.xml": changesIn(`from="2013-01-03T10:08:00Z"`), "/a": "A",
			}, want: "a=A b c=C"},
			{date: "Thu, 03 Jan 2013 10:10:00 GMT", pages: map[string]string{
				"/2.xml": changesIn(`from="2013-01-03T10:08:00Z"`, "created d 2013-01-03T10:07:40Z"),
			}, want: "a=A b c=C d"},
		},
		"a moved list": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "created c 2013-01-03T10:00:00Z", "deleted c 2013-01-03T10:00:01Z", "deleted b 2013-01-03T10:00:02Z", "created d 2013-01-03T10:00:02Z")}, want: "a d"},
			{pages: map[string]string{
				"/cl.xml":    strings.Replace(fullSource["/cl.xml"], "chl.xml", "moved.xml", 1),
				"/moved.xml": changesIn(from, "created c 2013-01-03T10:00:00Z", "deleted c 2013-01-03T10:00:01Z", "deleted b 2013-01-03T10:00:02Z", "created d 2013-01-03T10:00:02Z"),
			}, want: "a d"},
		},
		"again after a gap": {
			{pages: map[string]string{"/chl.xml": changesIn(from, "deleted b 2013-01-03T10:00:00Z", "created c 2013-01-03T10:00:01Z"), "/b": "-"}, want: "a c"},
			// The Resource List, which still has b, is compared again. The Change List has not
			// changed.
			{pages: map[string]string{
				"/cl.xml":   strings.Replace(fullSource["/cl.xml"], "<url><loc>BASE/chl", `<url><loc>BASE/late.xml</loc><rs:md capability="changelist"/></url><url><loc>BASE/chl`, 1),
				"/late.xml": changesIn(`from="2013-01-03T11:00:00Z"`),
			}, want: "a c"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, plain := range []bool{false, true} {
				s, url := newDated(t, history(nil))
				s.set("", plain)
				pass(t, s, url, steps)
			}
		})
	}
}

// TestFutureChange has a change dated 2099. It does not hide a change of the second before
// the run.
func TestFutureChange(t *testing.T) {
	const from = `from="2013-01-01T00:00:00Z"`
	future := "updated a 2099-01-01T00:00:00Z"
	index := func(parts ...string) string {
		text := openIndex + `<rs:md capability="changelist" ` + from + `/>`
		for _, p := range parts {
			text += `<sitemap><loc>BASE/` + p + `.xml</loc><rs:md ` + from + `/></sitemap>`
		}
		return text + `</sitemapindex>`
	}
	s, url := newDated(t, history(map[string]string{"/chl.xml": index("1"), "/1.xml": changesIn(from, future)}))
	pass(t, s, url, []step{
		{date: "Thu, 03 Jan 2013 12:00:01 GMT", want: "a b"},
		// These changes are in a list that has not been read before.
		{date: "Thu, 03 Jan 2013 12:00:02 GMT", pages: map[string]string{"/chl.xml": index("1", "2"), "/2.xml": changesIn(from, "created c 2013-01-03T12:00:00Z")}, want: "a b c"},
		{pages: map[string]string{"/1.xml": changesIn(from, future, "updated a 2013-01-03T12:00:02Z"), "/a": "A"}, want: "a=A b c"},
		// A second change in a second that has been read.
		{pages: map[string]string{"/2.xml": changesIn(from, "created c 2013-01-03T12:00:00Z", "created d 2013-01-03T12:00:02Z", "updated a 2013-01-03T12:00:02Z"), "/a": "AA"}, want: "a=AA b c d"},
		{pages: map[string]string{"/2.xml": changesIn(from, "created c 2013-01-03T12:00:00Z", "created d 2013-01-03T12:00:02Z", "updated a 2013-01-03T12:00:02Z", "updated a 2013-01-03T12:00:02Z"), "/a": "AAA"}, want: "a=AAA b c d"},
	})
}

// TestTimeless has lists whose entries have no times of changes.
func TestTimeless(t *testing.T) {
	for name, steps := range map[string][]step{
		"lastmods run backwards": {
			{pages: map[string]string{"/chl.xml": changesIn("", "created c =2013-01-05T10:00:00Z")}, want: "a b c"},
			{pages: map[string]string{"/chl.xml": changesIn("", "created c =2013-01-05T10:00:00Z", "updated a =2012-01-01T00:00:00Z"), "/a": "A"}, want: "a=A b c"},
			{pages: map[string]string{"/chl.xml": changesIn("", "created c =2013-01-05T10:00:00Z", "updated a =2012-01-01T00:00:00Z", "deleted b =2011-01-01T00:00:00Z"), "/b": "-"}, want: "a=A c"},
			{pages: map[string]string{"/chl.xml": changesIn("", "created c =2013-01-05T10:00:00Z", "updated a =2012-01-01T00:00:00Z", "deleted b =2011-01-01T00:00:00Z", "created b =2010-01-01T00:00:00Z"), "/b": "B"}, want: "a=A b=B c"},
		},
		"nothing at all": {
			{pages: map[string]string{"/chl.xml": changesIn("", "created c")}, want: "a b c"},
			{pages: map[string]string{"/chl.xml": changesIn("", "created c", "updated c"), "/c": "C"}, want: "a b c=C"},
			{pages: map[string]string{"/chl.xml": changesIn("", "created c", "updated c", "updated c"), "/c": "CC"}, want: "a b c=CC"},
			{pages: map[string]string{"/chl.xml": changesIn("", "created c", "updated c", "updated c", "deleted c"), "/c": "-"}, want: "a b"},
			{pages: map[string]string{"/chl.xml": changesIn("", "created c", "updated c", "updated c", "deleted c", "created c"), "/c": "new"}, want: "a b c=new"},
		},
		"deleted before the list was read, listed since": {
			{pages: map[string]string{"/chl.xml": changesIn("", "deleted b")}, want: "a b"},
		},
		"deleted and gone": {
			{pages: map[string]string{"/chl.xml": changesIn("", "deleted b"), "/b": "-"}, want: "a"},
		},
		"old lastmods before the cursor": {
			{pages: map[string]string{"/chl.xml": changesIn("", "created c =2001-01-01T00:00:00Z")}, want: "a b c"},
		},
		"times at the end": {
			{pages: map[string]string{"/chl.xml": changesIn("", "updated a", "deleted c", "created d 2013-01-03T10:00:00Z"), "/a": "A"}, want: "a=A b d"},
			{pages: map[string]string{"/chl.xml": changesIn("", "updated a", "deleted c", "created d 2013-01-03T10:00:00Z", "deleted d")}, want: "a=A b"},
		},
		"from decides": {
			{pages: map[string]string{"/chl.xml": changesIn(`from="2013-01-03T08:00:00Z"`)}, want: "a b"},
			{pages: map[string]string{"/chl.xml": openIndex + `<rs:md capability="changelist" from="2013-01-03T08:00:00Z"/><sitemap><loc>BASE/2.xml</loc><rs:md from="2013-01-03T09:30:00Z"/></sitemap></sitemapindex>`,
				"/2.xml": changesIn(`from="2013-01-03T09:30:00Z"`, "deleted b")}, want: "a"}, // and its server still answers
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := newDated(t, history(nil))
			pass(t, s, url, steps)
		})
	}
}

// TestCoarseTimes has several changes on one day.
func TestCoarseTimes(t *testing.T) {
	const day = "2013-01-04T00:00:00Z"
	all := []string{"created c " + day, "created d " + day, "updated c " + day, "deleted d " + day, "created d " + day, "updated c " + day}
	s, url := newDated(t, history(nil))
	var steps []step
	c, d := "", ""
	for i, e := range all {
		switch f := strings.Fields(e); {
		case f[0] == "deleted":
			d = "-"
		case f[1] == "c":
			c += "c"
		default:
			d += "d"
			d = strings.TrimPrefix(d, "-")
		}
		pages := map[string]string{"/chl.xml": changesIn(`from="2013-01-03T00:00:00Z"`, all[:i+1]...)}
		want := "a b c=" + c
		if pages["/c"] = c; d != "" {
			if pages["/d"] = d; d != "-" {
				want += " d=" + d
			}
		}
		steps = append(steps, step{pages: pages, want: want})
	}
	pass(t, s, url, steps)
	// All of them at once.
	s, url = newDated(t, history(nil))
	pass(t, s, url, slices.Concat(steps[:1], steps[5:]))
}
