package rshttp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
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
	static bool            // parts have the names of [staticName]
	ends   []string        // of all paths below the base
	begin  map[string]bool // how paths below the base begin, unless sets are named; see folderOf
}

func newRoutes(base *url.URL, named, static bool, ks []*kind) *routes {
	rt := &routes{
		static: static,
		origin: base.Scheme + "://" + base.Host,
		base:   base.Path,
		router: mux.NewRouter().SkipClean(true),
		kinds:  make(map[string]*kind),
		named:  named,
		ends:   []string{".xml", ".zip", ".html", kindMemento},
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
		if k.anyMethod() {
			rt.ends = append(rt.ends, k.path)
		}
	}
	return rt
}

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

func (rt *routes) url(kind string, st *set, part string) string {
	return rt.origin + rt.locate(kind, st, part).EscapedPath()
}

func (st *set) url(kind, part string) string { return st.routes.url(kind, st, part) }

// path returns the path of a document, decoded.
func (rt *routes) path(kind string, st *set, part string) string {
	return rt.locate(kind, st, part).Path
}

func (rt *routes) locate(kind string, st *set, part string) *url.URL {
	if rt.static {
		part = staticName(part)
	}
	var pairs []string
	if rt.kinds[kind].needs != nil && rt.named {
		pairs = append(pairs, "set", st.Name)
	}
	if part != "" {
		pairs = append(pairs, "part", part)
	}
	u, err := rt.router.Get(kind).URLPath(pairs...)
	if err != nil {
		// Every part comes from a function whose result matches the route.
		panic(fmt.Sprintf("rshttp: no URL for %s %v: %v", kind, pairs, err))
	}
	return u
}

// paths returns the paths below the base that documents can have. A path that ends in a slash
// is a folder.
func (s *site) paths() []string {
	rt := s.routes
	var paths []string
	if rt.named {
		for _, st := range s.order {
			paths = append(paths, st.Name+"/")
		}
		return append(paths, folderOf(rt.kinds[kindDescriptionPart].path))
	}
	for _, k := range rt.kinds {
		if !strings.HasPrefix(k.path, "/") && (k.needs == nil || k.needs(s.order[0])) {
			paths = append(paths, folderOf(k.path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// staticName returns the name of a part in a file system. The names of times and numbers stay
// as they are. The name of a range of keys can be long, and differs from others in the case
// of letters only, so a digest takes its place.
func staticName(part string) string {
	if !strings.Contains(part, "~") {
		return part
	}
	sum := sha256.Sum256([]byte(part))
	return hex.EncodeToString(sum[:16])
}
