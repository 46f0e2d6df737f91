package sidecar

import (
	"net/http"
	"net/url"
)

// watchWrites returns a handler that reports the URLs that successful writes name. It
// resolves them against base, a URL of the site, regardless of the requested host.
func watchWrites(next http.Handler, base string, changed func(...*url.URL)) http.Handler {
	site, err := url.Parse(base)
	if err != nil {
		panic("sidecar: " + err.Error()) // the Source returns valid URLs
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
			next.ServeHTTP(w, r)
			return
		}
		response := &statusWriter{ResponseWriter: w}
		next.ServeHTTP(response, r)
		if response.status < 400 {
			changed(written(site, r.URL, w.Header())...)
		}
	})
}

// written returns the URLs of site that a write to target with this response header may
// have changed.
func written(site, target *url.URL, header http.Header) []*url.URL {
	own := url.URL{Scheme: site.Scheme, Host: site.Host, Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery}
	urls := []*url.URL{&own}
	for _, name := range []string{"Location", "Content-Location"} {
		value := header.Get(name)
		if value == "" {
			continue
		}
		if u, err := own.Parse(value); err == nil && u.Host == site.Host && u.User == nil {
			u.Scheme, u.Fragment, u.RawFragment = site.Scheme, "", ""
			urls = append(urls, u)
		}
	}
	return urls
}

// A statusWriter records the status of the final response; 0 means 200.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (s *statusWriter) WriteHeader(status int) {
	if status >= 200 && s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

// Unwrap gives http.ResponseController access to the underlying writer.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
