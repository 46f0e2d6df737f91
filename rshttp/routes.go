package rshttp

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/resourcesync-go/resourcesync/wellknown"
)

// routes maps between paths and targets.
type routes struct {
	origin string // scheme and host of the public URLs
	base   string // path of the base, with a slash at its end
	router *mux.Router
	kinds  map[string]*kind
	named  bool            // sets have a segment of their own
	ends   []string        // of all paths below the base
	begin  map[string]bool // how paths below the base begin, unless sets are named; see folderOf
}

func newRoutes(base *url.URL, named bool, ks []*kind) *routes {
	rt := &routes{
		origin: base.Scheme + "://" + base.Host,
		base:   base.Path,
		router: mux.NewRouter().SkipClean(true),
		kinds:  make(map[string]*kind),
		named:  named,
		ends:   []string{".xml", ".zip", kindMemento},
		begin:  make(map[string]bool),
	}
	for _, k := range ks {
		path := k.path
		switch {
		case strings.HasPrefix(path, "/"):
		case k.needs != nil && named:
			path = rt.base + "{set}/" + path
		default:
			path = rt.base + path
		}
		rt.router.Path(path).Name(k.name)
		rt.kinds[k.name] = k
		rt.begin[folderOf(k.path)] = true
		if k.anyMethod {
			rt.ends = append(rt.ends, k.path)
		}
	}
	return rt
}

// A target is the document that a path names.
type target struct {
	kind *kind
	path string
	set  *set   // nil for the Source Description
	part string // which page, window or part
}

// isUnlisted reports whether t is not known to be listed.
func (t target) isUnlisted() bool { return t.kind.listed != nil && !t.kind.listed(t) }

// url returns the public URL of a document of the same set.
func (t target) url(kind, part string) string { return t.set.url(kind, part) }

// match returns the target of a path.
func (rt *routes) match(path string, sets map[string]*set) (target, bool) {
	// Most requests to a wrapped application are for other paths. Avoid the cost of the
	// router for them.
	if path != wellknown.Path && !rt.mayHave(path) {
		return target{}, false
	}
	var m mux.RouteMatch
	if !rt.router.Match(&http.Request{URL: &url.URL{Path: path}}, &m) || m.MatchErr != nil {
		return target{}, false
	}
	t := target{kind: rt.kinds[m.Route.GetName()], path: path, part: m.Vars["part"]}
	if t.kind.needs != nil {
		if t.set = sets[m.Vars["set"]]; t.set == nil || !t.kind.needs(t.set) {
			return target{}, false
		}
	}
	return t, true
}

// mayHave reports whether path looks like one of the Source's below its base.
func (rt *routes) mayHave(path string) bool {
	below, ok := strings.CutPrefix(path, rt.base)
	if !ok {
		return false
	}
	for _, end := range rt.ends {
		if strings.HasSuffix(below, end) {
			return rt.named || rt.begin[folderOf(below)]
		}
	}
	return false
}

// folderOf returns the first folder of a path, with a trailing slash, or the path itself if
// it has none.
func folderOf(path string) string {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i+1]
	}
	return path
}

// url returns the public URL of a document.
func (rt *routes) url(kind string, st *set, part string) string {
	var pairs []string
	if rt.kinds[kind].needs != nil && rt.named {
		pairs = append(pairs, "set", st.name)
	}
	if part != "" {
		pairs = append(pairs, "part", part)
	}
	u, err := rt.router.Get(kind).URLPath(pairs...)
	if err != nil {
		// Every part comes from a function whose result matches the route.
		panic(fmt.Sprintf("rshttp: no URL for %s %v: %v", kind, pairs, err))
	}
	return rt.origin + u.EscapedPath()
}
