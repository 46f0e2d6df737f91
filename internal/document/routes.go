package document

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

// Routes maps between paths and targets.
type Routes struct {
	Origin string // scheme and host of the public URLs
	Base   string // path of the base, with a slash at its end
	router *mux.Router
	Kinds  map[string]*Kind
	named  bool            // each set has a segment
	static bool            // parts have the names of [staticName]
	ends   []string        // of all paths below the base
	begin  map[string]bool // how paths below the base begin, unless sets are named; see folderOf
}

func newRoutes(base *url.URL, named, static bool, ks []*Kind) *Routes {
	rt := &Routes{
		static: static,
		Origin: base.Scheme + "://" + base.Host,
		Base:   base.Path,
		router: mux.NewRouter().SkipClean(true),
		Kinds:  make(map[string]*Kind),
		named:  named,
		ends:   []string{".xml", ".zip", ".html", kindMemento},
		begin:  make(map[string]bool),
	}
	for _, k := range ks {
		path := k.path
		switch {
		case strings.HasPrefix(path, "/"):
		case k.Needs != nil && named:
			path = rt.Base + "{set}/" + path
		default:
			path = rt.Base + path
		}
		rt.router.Path(path).Name(k.Name)
		rt.Kinds[k.Name] = k
		rt.begin[folderOf(k.path)] = true
		if k.AnyMethod() {
			rt.ends = append(rt.ends, k.path)
		}
	}
	return rt
}

func (rt *Routes) Match(path string, sets map[string]*Set) (Target, bool) {
	// Most requests to a wrapped application are for other paths. Avoid the cost of the
	// router for them.
	if path != wellknown.Path && !rt.mayHave(path) {
		return Target{}, false
	}
	var m mux.RouteMatch
	if !rt.router.Match(&http.Request{URL: &url.URL{Path: path}}, &m) || m.MatchErr != nil {
		return Target{}, false
	}
	t := Target{Kind: rt.Kinds[m.Route.GetName()], Path: path, Part: m.Vars["part"]}
	if t.Kind.Needs != nil {
		if t.Set = sets[m.Vars["set"]]; t.Set == nil || !t.Kind.Needs(t.Set) {
			return Target{}, false
		}
	}
	return t, true
}

// mayHave reports whether path looks like one of the Source's below its base.
func (rt *Routes) mayHave(path string) bool {
	below, ok := strings.CutPrefix(path, rt.Base)
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

func (rt *Routes) URL(kind string, st *Set, part string) string {
	return rt.Origin + rt.locate(kind, st, part).EscapedPath()
}

func (st *Set) URL(kind, part string) string { return st.Routes.URL(kind, st, part) }

// Path returns the path of a document, decoded.
func (rt *Routes) Path(kind string, st *Set, part string) string {
	return rt.locate(kind, st, part).Path
}

func (rt *Routes) locate(kind string, st *Set, part string) *url.URL {
	if rt.static {
		part = staticName(part)
	}
	var pairs []string
	if rt.Kinds[kind].Needs != nil && rt.named {
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

// Paths returns the paths below the base that documents can have. A path that ends in a slash
// is a folder.
func (s *Site) Paths() []string {
	rt := s.Routes
	var paths []string
	if rt.named {
		for _, st := range s.Order {
			paths = append(paths, st.Name+"/")
		}
		return append(paths, folderOf(rt.Kinds[KindDescriptionPart].path))
	}
	for _, k := range rt.Kinds {
		if !strings.HasPrefix(k.path, "/") && (k.Needs == nil || k.Needs(s.Order[0])) {
			paths = append(paths, folderOf(k.path))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// PartFolders returns the folders below the base URL in which parts and packages can be.
func (s *Site) PartFolders() []string {
	var folders []string
	for _, k := range s.Routes.Kinds {
		folder, ok := strings.CutSuffix(folderOf(k.path), "/")
		switch {
		case !ok || folder == "":
		case k.Needs == nil || !s.Routes.named:
			folders = append(folders, folder)
		default:
			for _, st := range s.Order {
				folders = append(folders, st.Name+"/"+folder)
			}
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}

// staticName returns the name of a part in a file system. Times and numbers keep their
// names. The name of a range of keys can be long, or differ from others in the case of
// letters only, so it is replaced with a digest.
func staticName(part string) string {
	if !strings.Contains(part, "~") {
		return part
	}
	sum := sha256.Sum256([]byte(part))
	return hex.EncodeToString(sum[:16])
}
