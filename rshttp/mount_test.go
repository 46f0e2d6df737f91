package rshttp_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/gorilla/mux"

	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// TestMounting serves the same Source in each of the ways that the package
// documentation names, with middleware of the host in front.
func TestMounting(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 2}, Sitemaps: rshttp.ResourceLists},
		rshttp.Set{Provider: papers(t, "a", "b", "c")})
	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, "app ", r.URL.Path)
	})
	seen := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Host-Was-Here", "yes")
			next.ServeHTTP(w, r)
		})
	}
	std := http.NewServeMux()
	std.Handle("/resourcesync/", src)
	std.Handle(wellknown.Path, src)
	std.Handle("/", src.Link(app))

	c := chi.NewRouter()
	c.Use(seen)
	c.Mount("/resourcesync", src)
	c.Handle(wellknown.Path, src)
	c.Handle("/*", src.Link(app))

	g := mux.NewRouter()
	g.Use(seen)
	g.PathPrefix("/resourcesync/").Handler(src)
	g.Handle(wellknown.Path, src)
	g.PathPrefix("/").Handler(src.Link(app))

	own := chi.NewRouter() // Wrap around a router that has routes for everything
	own.Get("/{a}/{b}", app.ServeHTTP)
	own.Get("/*", app.ServeHTTP)

	for name, h := range map[string]http.Handler{"net/http": seen(std), "chi": c, "gorilla/mux": g, "Wrap": seen(src.Wrap(own))} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{wellknown.Path, "/resourcesync/capabilitylist.xml", "/resourcesync/resourcelist.xml", "/resourcesync/resourcelist/~Yw.xml", "/resourcesync/changelist.xml"} {
				for _, method := range []string{"GET", "HEAD"} {
					res := do(t, h, method, path)
					if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/xml" || res.Header.Get("Host-Was-Here") == "" {
						t.Errorf("%s %s: %s %v", method, path, res.Status, res.Header)
					}
				}
			}
			for path, linked := range map[string]bool{"/papers/a": true, "/papers/z": false, "/": false} {
				res := get(t, h, path)
				if got := res.Header.Get("Link"); (got == `<https://example.org/resourcesync/capabilitylist.xml>; rel="resourcesync"`) != linked {
					t.Errorf("%s: Link %q", path, got)
				}
				if body := text(t, res); body != "app "+path {
					t.Errorf("%s: %q", path, body)
				}
			}
		})
	}
	if robots := text(t, get(t, src.Wrap(app), "/robots.txt")); !strings.Contains(robots, "Sitemap: https://example.org/resourcesync/resourcelist.xml") {
		t.Errorf("robots.txt: %q", robots)
	}
}

// TestWrapWriter: the handler behind Wrap gets the server's ResponseWriter, with its optional
// methods, except for a request for a robots.txt that gets more lines.
func TestWrapWriter(t *testing.T) {
	for _, sitemaps := range []rshttp.Sitemaps{0, rshttp.ResourceLists} {
		robots := sitemaps != 0
		src := newSource(t, &rshttp.Options{Sitemaps: sitemaps}, rshttp.Set{Provider: papers(t, "a")})
		var got http.ResponseWriter
		h := src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { got = w }))
		for _, path := range []string{"/papers/a", "/papers/z", "/", "/robots.txt"} {
			for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
				w := &struct{ *httptest.ResponseRecorder }{httptest.NewRecorder()}
				h.ServeHTTP(w, httptest.NewRequest(method, "https://example.org"+path, nil))
				extended := robots && path == "/robots.txt" && (method == "GET" || method == "HEAD")
				if same := got == http.ResponseWriter(w); same == extended {
					t.Errorf("robots %t: %s %s: the handler gets a %T", robots, method, path, got)
				}
			}
		}
	}
}

// TestRootBase: a Source at the root of its site handles only the paths of its
// documents.
func TestRootBase(t *testing.T) {
	src, err := rshttp.New("https://example.org", []rshttp.Set{{Name: "papers", Provider: tableOf(1), Prefix: "/papers/"}}, &rshttp.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	h := src.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "app") }))
	if res := get(t, h, "/papers/resourcelist.xml"); res.Header.Get("Content-Type") != "application/xml" {
		t.Error(res.Status)
	}
	for path, linked := range map[string]bool{"/papers/resources.xml": true, "/": false, "/feed.xml": false, "/other/resourcelist.xml": false, "/papers/changelist.xml": true} {
		res := get(t, h, path)
		if text(t, res) != "app" || (res.Header.Get("Link") != "") != linked {
			t.Errorf("%s: %v", path, res.Header)
		}
	}
}

// TestManySets: more sets than one Source Description holds make an index.
func TestManySets(t *testing.T) {
	needs.Time(t)
	p := tableOf(0)
	sets := make([]rshttp.Set, 50_001)
	for i := range sets {
		sets[i] = rshttp.Set{Name: fmt.Sprintf("s%05d", i), Provider: p, Prefix: "/"}
	}
	src := newSource(t, nil, sets...)
	capabilityLists, parts := listed(t, src, wellknown.Path)
	if len(capabilityLists) != len(sets) || parts != 2 {
		t.Errorf("%d Capability Lists in %d parts", len(capabilityLists), parts)
	}
	if res := get(t, src, strings.TrimPrefix(capabilityLists[50_000], "https://example.org")); res.StatusCode != 200 {
		t.Error(res.Status)
	}
}

// TestStripPrefix: a Source that gets paths without their beginning logs it once, with a
// remedy.
func TestStripPrefix(t *testing.T) {
	const said = "mount the Source without http.StripPrefix"
	for name, tt := range map[string]struct {
		mount func(src *rshttp.Source) http.Handler
		paths []string
		times int
	}{
		"stripped":          {func(src *rshttp.Source) http.Handler { return http.StripPrefix("/resourcesync", src) }, []string{"/resourcesync/capabilitylist.xml", "/resourcesync/resourcelist.xml"}, 1},
		"without the slash": {func(src *rshttp.Source) http.Handler { return http.StripPrefix("/resourcesync/", src) }, []string{"/resourcesync/capabilitylist.xml"}, 1},
		"wrapped and stripped": {func(src *rshttp.Source) http.Handler {
			return http.StripPrefix("/resourcesync", src.Wrap(http.NotFoundHandler()))
		}, []string{"/resourcesync/changelist.xml", "/resourcesync/changelist.xml"}, 1},
		"by a proxy":           {func(src *rshttp.Source) http.Handler { return src }, []string{"/capabilitylist.xml"}, 1},
		"mounted as it is":     {func(src *rshttp.Source) http.Handler { return src }, []string{"/resourcesync/capabilitylist.xml", "/resourcesync/none.xml", "/papers/a"}, 0},
		"another document":     {func(src *rshttp.Source) http.Handler { return http.StripPrefix("/resourcesync", src) }, []string{"/resourcesync/papers/a"}, 0},
		"wrapped, like a name": {func(src *rshttp.Source) http.Handler { return src.Wrap(http.NotFoundHandler()) }, []string{"/capabilitylist.xml"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			src := newSource(t, &rshttp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, rshttp.Set{Provider: papers(t, "a")})
			server := httptest.NewServer(tt.mount(src))
			for _, path := range tt.paths {
				res, err := server.Client().Get(server.URL + path)
				if err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
			}
			server.Close()
			if n := strings.Count(log.String(), said); n != tt.times {
				t.Errorf("logged %d times, want %d:\n%s", n, tt.times, log.String())
			}
		})
	}
}
