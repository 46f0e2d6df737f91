package rshttp

import (
	"net/http"
	"net/url"
	"strings"
)

// noteStripped logs, once, that a request for a document has arrived without the beginning of
// its path, so it was not recognized. mounted means that r would be answered 404.
func (s *Source) noteStripped(r *http.Request, mounted bool) {
	base := s.site.Routes.Base
	if strings.HasPrefix(r.URL.Path, base) || s.stripped.Load() {
		return
	}
	whole, found := "", false
	if strings.HasPrefix(r.RequestURI, base) { // StripPrefix leaves it as it was
		if u, err := url.ParseRequestURI(r.RequestURI); err == nil {
			whole = u.Path
			_, _, found = s.find(whole)
		}
	}
	if !found && mounted { // a proxy in front may have stripped the prefix
		whole = base + strings.TrimPrefix(r.URL.Path, "/")
		_, _, found = s.find(whole)
	}
	if found && s.stripped.CompareAndSwap(false, true) {
		s.log.Warn("requests for documents arrive without the beginning of their paths, and are answered 404: mount the Source without http.StripPrefix, and have a proxy in front pass the complete path",
			"requested", r.URL.Path, "document", whole)
	}
}
