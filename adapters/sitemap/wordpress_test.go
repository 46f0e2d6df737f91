package sitemap_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/sitemap"
	"github.com/resourcesync-go/resourcesync/internal/needs"
)

// A wordPress is a website with the REST interface of WordPress. Its sitemap has no dates.
type wordPress struct {
	*harness
	log  *lockedBuffer
	root string
}

const wpJSON = base + "wp-json/"

// newWordPress returns a scanned site, with the pages /a and /b, that announces its interface as
// root. No post was modified recently.
func newWordPress(t *testing.T, root string, o sitemap.Options) *wordPress {
	t.Helper()
	w := &wordPress{log: &lockedBuffer{}, root: root}
	o.Sitemaps, o.Revisit, o.Logger = []string{"/s.xml"}, -1, slog.New(slog.NewTextHandler(w.log, nil))
	w.harness = newHarness(t, o)
	w.serve("/", page("front", "Link: <"+root+`>; rel="https://api.w.org/"`))
	w.serve("/s.xml", page(urlset("/a", "/b")))
	w.serve("/a", page("a"))
	w.serve("/b", page("b"))
	w.serve("/unlisted", page("unlisted"))
	w.serve(w.rest("types", 0), page(`{"post":{"rest_base":"posts","rest_namespace":"wp/v2"},"page":{"rest_base":"pages"},"nav_menu_item":{"rest_base":"menu-items"},"wp_font_face":{"rest_base":"fonts/(?P<id>[\\d]+)/faces"}}`))
	w.serve(w.rest("menu-items", 1), status(401))
	w.serve(w.rest("posts", 1), w.posts(old("/a"), old("/b")))
	w.serve(w.rest("pages", 1), w.posts())
	w.mustScan(t, "/a", "/b")
	w.asked()
	return w
}

// rest returns the path and query of a page of posts, or of the types if page is 0.
func (w *wordPress) rest(name string, page int) string {
	q := url.Values{}
	if page > 0 {
		q = url.Values{"orderby": {"modified"}, "order": {"desc"}, "per_page": {"100"}, "_fields": {"link,modified_gmt"}}
	}
	if page > 1 {
		q.Set("page", fmt.Sprint(page))
	}
	u, err := url.Parse(base)
	if err == nil {
		u, err = u.Parse(w.root)
	}
	if err != nil {
		panic(err)
	}
	if u.Query().Has("rest_route") {
		q.Set("rest_route", "/wp/v2/"+name)
	} else {
		u = u.JoinPath("wp/v2", name)
	}
	u.RawQuery = q.Encode()
	return u.RequestURI()
}

type modified struct {
	path string
	at   time.Time
}

var begin = time.Now().Add(-time.Hour)

func old(path string) modified { return modified{path, begin} }
func now(path string) modified { return modified{path, time.Now()} }

// posts responds with posts.
func (w *wordPress) posts(posts ...modified) http.HandlerFunc {
	var items []string
	for _, p := range posts {
		items = append(items, fmt.Sprintf(`{"modified_gmt":%q,"link":%q}`, p.at.UTC().Format("2006-01-02T15:04:05"), strings.TrimSuffix(base, "/")+p.path))
	}
	return page("["+strings.Join(items, ",")+"]", "Content-Type: application/json", "X-WP-TotalPages: 1")
}

// checked scans and returns the requests for pages.
func (w *wordPress) checked(t *testing.T) (pages []string) {
	t.Helper()
	w.asked()
	w.mustScan(t, "/a", "/b")
	for _, request := range w.asked() {
		switch path := strings.TrimPrefix(request, "GET "); path {
		case "/a", "/b", "/unlisted":
			pages = append(pages, path)
		}
	}
	return pages
}

// lines returns the number of lines of the log with a text.
func (w *wordPress) lines(text string) int { return strings.Count(w.log.String(), text) }

// TestWordPress: the pages of modified posts are checked, and no others, for each place of the
// interface.
func TestWordPress(t *testing.T) {
	for _, root := range []string{wpJSON, "http://example.org/wp-json", base + "?rest_route=/", base + "index.php?rest_route=/", "/blog/wp-json/"} {
		t.Run(root, func(t *testing.T) {
			w := newWordPress(t, root, sitemap.Options{})
			if got := w.checked(t); got != nil {
				t.Errorf("nothing was modified, and %q were checked", got)
			}
			w.serve(w.rest("posts", 1), w.posts(now("/a"), now("/unlisted"), old("/b")))
			if got := w.checked(t); !slices.Equal(got, []string{"/a"}) {
				t.Errorf("/a was modified, and %q were checked", got)
			}
			w.serve(w.rest("posts", 1), w.posts(old("/a"), old("/b")))
			w.serve(w.rest("pages", 1), w.posts(now("/b")))
			if got := w.checked(t); !slices.Equal(got, []string{"/b"}) {
				t.Errorf("/b was modified, and %q were checked", got)
			}
			if n := w.lines("is queried for recently modified posts"); n != 1 {
				t.Errorf("%d lines say so:\n%s", n, w.log)
			}
			if n := w.lines("level=WARN"); n != 0 {
				t.Errorf("the log has warnings:\n%s", w.log)
			}
		})
	}
}

// TestWordPressNotAsked has sites whose interface is not requested.
func TestWordPressNotAsked(t *testing.T) {
	for name, o := range map[string]sitemap.Options{
		"switched off":         {NoREST: true},
		"other recent changes": {Recent: []string{"/feed"}},
		"no page is checked":   {Verify: sitemap.VerifyNone},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWordPress(t, wpJSON, o)
			w.mustScan(t, "/a", "/b")
			for _, request := range w.asked() {
				if strings.Contains(request, "wp-json") || strings.HasSuffix(request, " /") {
					t.Error(request)
				}
			}
		})
	}
}

// TestWordPressFails has interfaces that fail in some way. The log reports it once, not at each
// scan, and the scan succeeds.
func TestWordPressFails(t *testing.T) {
	needs.Time(t)
	endless := func(w http.ResponseWriter, r *http.Request) {
		text := strings.Repeat(`{"link":"x"},`, 1000)
		_, _ = io.WriteString(w, "[")
		for range 1000 {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		path  string // of the types; else of the posts
		serve http.HandlerFunc
		want  string // in the warning; empty if there is none
	}{
		"types refused":         {"types", status(401), "answered 401"},
		"types missing":         {"types", status(404), "answered 404"},
		"types fail":            {"types", status(500), "answered 500"},
		"types redirected":      {"types", status(302, "Location: https://other.example/"), "answered 302"},
		"types redirected here": {"types", status(302, "Location: /wp-json/wp/v2/types"), "redirects too often"},
		"types of HTML":         {"types", page("<html>"), "JSON of WordPress"},
		"types empty":           {"types", page(""), "JSON of WordPress"},
		"types in an array":     {"types", page("[]"), "JSON of WordPress"},
		"no types":              {"types", page("{}"), "names no types"},
		"types cut off":         {"types", page(`{"post":{"rest_base":"posts"}`), "JSON of WordPress"},
		"types of numbers":      {"types", page(`{"post":1}`), "JSON of WordPress"},
		"too many types":        {"types", page("{" + strings.TrimSuffix(strings.Repeat(`"post":{"rest_base":"posts"},`, 60), ",") + "}"), "not_asked=10"},
		"paths elsewhere":       {"types", page(`{"post":{"rest_base":"../../../secret"},"page":{"rest_namespace":"x?","rest_base":"y"}}`), "names no types"},
		"no type is public":     {"types", page(`{"nav_menu_item":{"rest_base":"menu-items"}}`), "any type"},
		"posts refused":         {"posts", status(403), "answered 403"},
		"posts fail":            {"posts", status(503), "answered 503"},
		"posts of HTML":         {"posts", page("<br/>Notice: x[]"), "JSON of WordPress"},
		"posts in an object":    {"posts", page("{}"), "JSON of WordPress"},
		"posts cut off":         {"posts", page(`[{"link":`), "JSON of WordPress"},
		"posts of numbers":      {"posts", page(`[1]`), "JSON of WordPress"},
		"posts without fields":  {"posts", page(`[{"id":1},{"link":false,"modified_gmt":null}]`), "neither link nor modified_gmt"},
		"posts without end":     {"posts", endless, "more posts than requested"},
		"posts too large":       {"posts", page(`[{"x":"` + strings.Repeat("x", 9<<20) + `"}]`), "too large"},
		"posts in disorder":     {"posts", page(`[{"link":"https://example.org/a","modified_gmt":"2199-01-01T00:00:00"},{"link":"https://example.org/b","modified_gmt":"2199-01-02T00:00:00"}]`), "order posts"},
		"some without fields":   {"posts", page(`[{"id":1},{"link":"https://example.org/a","modified_gmt":"2020-01-01T00:00:00"}]`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWordPress(t, wpJSON, sitemap.Options{})
			path := w.rest(tt.path, 1)
			if tt.path == "types" {
				path = w.rest(tt.path, 0)
				w.site = w.restarted(t)
			}
			w.serve(path, tt.serve)
			for range 3 {
				w.mustScan(t, "/a", "/b")
			}
			want := 1
			if tt.want == "" {
				want = 0
			}
			if n := w.lines("level=WARN"); n != want || !strings.Contains(w.log.String(), tt.want) {
				t.Errorf("%d warnings:\n%s", n, w.log)
			}
			if n := len(w.asked()); n > 170 {
				t.Errorf("%d requests", n)
			}
			if want == 0 || tt.path == "types" {
				return
			}
			w.serve(path, w.posts(now("/a"), old("/b")))
			if got := w.checked(t); !slices.Equal(got, []string{"/a"}) || w.lines("is read again") != 1 {
				t.Errorf("when it works again, %q are checked:\n%s", got, w.log)
			}
		})
	}
}

// restarted returns the site as a later process would open it.
func (w *wordPress) restarted(t *testing.T) *sitemap.Site {
	t.Helper()
	return w.bound(t, sitemap.Options{
		Sitemaps: []string{"/s.xml"}, Folder: w.folder, Revisit: -1, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	})
}

// TestWordPressElsewhere has a site that announces an interface on another host.
func TestWordPressElsewhere(t *testing.T) {
	w := newWordPress(t, "https://other.example/wp-json/", sitemap.Options{})
	w.mustScan(t, "/a", "/b")
	if got := w.asked(); slices.ContainsFunc(got, func(r string) bool { return strings.Contains(r, "wp-json") }) || w.lines("another host") != 1 {
		t.Errorf("requests %q, log:\n%s", got, w.log)
	}
}

// TestWordPressTwice has a post modified twice within the second in which it is checked first.
func TestWordPressTwice(t *testing.T) {
	w := newWordPress(t, wpJSON, sitemap.Options{})
	w.serve(w.rest("posts", 1), w.posts(now("/a"), old("/b")))
	for n := range 2 {
		if got := w.checked(t); !slices.Equal(got, []string{"/a"}) {
			t.Errorf("scan %d checks %q", n, got)
		}
	}
	before := modified{"/b", time.Now().Add(-10 * time.Second)}
	w.serve(w.rest("posts", 1), w.posts(before, old("/a")))
	for n, want := range [][]string{{"/b"}, nil} {
		if got := w.checked(t); !slices.Equal(got, want) {
			t.Errorf("scan %d of another second checks %q, want %q", n, got, want)
		}
	}
}

// TestWordPressLater has a page that cannot be checked when a post names it, and a post that becomes
// visible later than others that were modified after it.
func TestWordPressLater(t *testing.T) {
	w := newWordPress(t, wpJSON, sitemap.Options{})
	w.serve(w.rest("posts", 1), w.posts(modified{"/a", time.Now().Add(-30 * time.Minute)}, old("/b")))
	w.serve("/a", status(503))
	for n := range 2 {
		if got := w.checked(t); !slices.Equal(got, []string{"/a"}) {
			t.Errorf("scan %d checks %q", n, got)
		}
	}
	w.serve("/a", page("a again"))
	for n, want := range [][]string{{"/a"}, nil} {
		if got := w.checked(t); !slices.Equal(got, want) {
			t.Errorf("scan %d of a page that works checks %q, want %q", n, got, want)
		}
	}
	late := time.Now().Add(-20 * time.Second)
	w.serve(w.rest("posts", 1), w.posts(now("/a")))
	w.checked(t)
	w.serve(w.rest("posts", 1), w.posts(now("/a"), modified{"/b", late}))
	if got := w.checked(t); !slices.Contains(got, "/b") {
		t.Errorf("%q are checked", got)
	}
}

// TestWordPressRestart has a post modified while no process runs.
func TestWordPressRestart(t *testing.T) {
	w := newWordPress(t, wpJSON, sitemap.Options{})
	w.serve(w.rest("posts", 1), w.posts(now("/a"), old("/b")))
	w.site = w.restarted(t)
	if got := w.checked(t); !slices.Equal(got, []string{"/a"}) {
		t.Errorf("%q are checked", got)
	}
}

// TestWordPressWithheld has a withheld page that becomes public.
func TestWordPressWithheld(t *testing.T) {
	w := newWordPress(t, wpJSON, sitemap.Options{})
	w.serve("/s.xml", page(urlset("/a", "/b", "/c")))
	w.serve("/c", status(403))
	w.mustScan(t, "/a", "/b")
	w.serve("/c", page("c"))
	w.mustScan(t, "/a", "/b")
	w.serve(w.rest("posts", 1), w.posts(now("/c"), old("/a")))
	w.mustScan(t, "/a", "/b", "/c")
}

// TestWordPressManyPosts has more posts modified than are read at once, and caches that ignore the
// query.
func TestWordPressManyPosts(t *testing.T) {
	for name, tt := range map[string]struct {
		page     func(n int) int // the number of the page that is sent
		pages    int             // that exist
		stated   bool            // X-WP-TotalPages
		requests int
		warning  string
	}{
		"three pages":         {func(n int) int { return n }, 3, true, 3, ""},
		"of unknown number":   {func(n int) int { return n }, 3, false, 4, ""},
		"too many":            {func(n int) int { return n }, 40, true, 10, "more posts of WordPress were modified"},
		"always the first":    {func(int) int { return 1 }, 40, false, 2, "repeats a page"},
		"always the first, 1": {func(int) int { return 1 }, 1, true, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWordPress(t, wpJSON, sitemap.Options{})
			recently := time.Now().Add(-2 * time.Minute)
			for n := range 41 {
				of := tt.page(n + 1)
				var posts []modified
				for i := range 100 {
					posts = append(posts, modified{fmt.Sprintf("/post/%d/%d", of, i), recently.Add(-time.Duration(of) * time.Second)})
				}
				posts[99].path = "/b"
				answer := w.posts(posts...)
				w.serve(w.rest("posts", n+1), func(rw http.ResponseWriter, r *http.Request) {
					if n >= tt.pages {
						rw.WriteHeader(http.StatusBadRequest)
						return
					}
					answer(&stating{rw, tt.stated, tt.pages}, r)
				})
			}
			w.mustScan(t, "/a", "/b")
			requests := 0
			asked := w.asked()
			for _, request := range asked {
				if strings.Contains(request, "/posts?") {
					requests++
				}
			}
			if requests != tt.requests || !slices.Contains(asked, "GET /b") {
				t.Errorf("%d requests for posts, want %d: %q", requests, tt.requests, asked)
			}
			if got := w.lines("level=WARN"); (got > 0) != (tt.warning != "") || !strings.Contains(w.log.String(), tt.warning) {
				t.Errorf("log:\n%s", w.log)
			}
		})
	}
}

// A stating response states the number of pages of posts, or none.
type stating struct {
	http.ResponseWriter
	stated bool
	pages  int
}

func (s *stating) WriteHeader(status int) {
	s.Header().Del("X-WP-TotalPages")
	if s.stated {
		s.Header().Set("X-WP-TotalPages", fmt.Sprint(s.pages))
	}
	s.ResponseWriter.WriteHeader(status)
}

// TestWordPressClock has a website whose clock differs, is set back, or dates posts in the future.
func TestWordPressClock(t *testing.T) {
	w := newWordPress(t, wpJSON, sitemap.Options{})
	at := func(clock time.Time, posts ...modified) {
		answer := w.posts(posts...)
		w.serve(w.rest("posts", 1), func(rw http.ResponseWriter, r *http.Request) {
			rw.Header().Set("Date", clock.UTC().Format(http.TimeFormat))
			answer(rw, r)
		})
	}
	clock := time.Now().Add(3 * time.Hour)
	for n, step := range []struct {
		ahead time.Duration // of clock
		posts []modified
		want  []string
	}{
		{0, []modified{{"/a", clock.Add(-time.Second)}}, []string{"/a"}},
		{5 * time.Minute, []modified{{"/a", clock.Add(-time.Second)}}, []string{"/a"}}, // the second is over
		{5 * time.Minute, []modified{{"/a", clock.Add(-time.Second)}}, nil},
		{10 * time.Minute, []modified{{"/b", clock.Add(time.Hour)}, {"/a", clock.Add(-time.Second)}}, []string{"/b"}}, // from the future
		{10 * time.Minute, []modified{{"/b", clock.Add(time.Hour)}, {"/a", clock.Add(-time.Second)}}, nil},
		{-time.Hour, []modified{{"/b", clock.Add(-time.Hour)}}, []string{"/b"}}, // set back
	} {
		at(clock.Add(step.ahead), step.posts...)
		if got := w.checked(t); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q are checked, want %q", n, got, step.want)
		}
	}
	if w.lines("clock of the website differs") != 1 || w.lines("has been set back") != 1 {
		t.Errorf("log:\n%s", w.log)
	}
}

// TestWordPressHint: after a write through a proxy, the modified posts are read before the
// next scan.
func TestWordPressHint(t *testing.T) {
	w := newWordPress(t, wpJSON, sitemap.Options{})
	w.serve(w.rest("posts", 1), w.posts(now("/a"), old("/b")))
	w.serve("/a", status(404))
	go w.site.Run(t.Context())
	w.site.Changed()
	w.eventually(t, "/b")
}

// A lockedBuffer is a buffer for several goroutines.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
