package sidecar

import (
	"net/http"
	"net/url"
)

// watchWrites returns a handler that reports the URLs which successful writes name.
// They are resolved against base, a URL of the site, whatever host was requested.
func watchWrites(next http.Handler, base string, changed func(...*url.URL)) http.Handler {
	site, err := url.Parse(base)
	if err != nil {
		panic("sidecar: " + err.Error()) // the Source has made it
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodConnect:
			next.ServeHTTP(w, r)
			return
		}
		answer := &statusWriter{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		if answer.status < 400 {
			changed(written(site, r.URL, w.Header())...)
		}
	})
}

// written returns the URLs of site that a write to the target with this response
// header may have changed.
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

// A statusWriter remembers the status of the final response; 0 is 200.
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

// Unwrap lets http.ResponseController see through.
func (s *statusWriter) Unwrap() http.ResponseWriter { return s.ResponseWriter }
