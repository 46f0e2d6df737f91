package sitemap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// defaultPaths are the default locations of sitemaps.
var defaultPaths = []string{"/sitemap.xml", "/wp-sitemap.xml"}

// maxRobots is the maximum number of bytes read of a robots.txt (RFC 9309, section
// 2.5).
const maxRobots = 512 << 10

// discover returns the sitemaps at which a scan begins.
func (s *Site) discover(ctx context.Context) ([]*url.URL, error) {
	given := s.options.Sitemaps
	if len(given) == 0 {
		var err error
		if given, err = s.robots(ctx); err != nil {
			return nil, fmt.Errorf("robots.txt: %w", err)
		}
	}
	var out []*url.URL
	for _, text := range given {
		u, err := s.base.Parse(text)
		if err != nil || !strings.EqualFold(u.Host, s.base.Host) {
			if len(s.options.Sitemaps) > 0 {
				return nil, fmt.Errorf("%q is not a URL of the site", text)
			}
			continue
		}
		if !s.excludes(u) {
			out = append(out, u)
		}
	}
	if len(out) > 0 {
		s.robotsNamed.Store(len(s.options.Sitemaps) == 0)
		return out, nil
	}
	if s.robotsNamed.Load() {
		// A sitemap at a default location may name fewer pages.
		return nil, errors.New("robots.txt no longer names a sitemap; if that is intended, restart")
	}
	for _, path := range defaultPaths {
		u := s.base.ResolveReference(&url.URL{Path: path})
		res, err := s.client.get(ctx, u, http.Header{})
		if isMissing(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s %w", u, err)
		}
		res.Body.Close()
		return []*url.URL{u}, nil
	}
	return nil, errors.New("the site has no sitemap that can be found; say where it is")
}

// robots returns the values of the Sitemap lines in the site's robots.txt.
func (s *Site) robots(ctx context.Context) ([]string, error) {
	res, err := s.client.get(ctx, s.base.ResolveReference(&url.URL{Path: "/robots.txt"}), http.Header{})
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxRobots))
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\uFEFF")) {
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.EqualFold(strings.TrimSpace(name), "sitemap") {
			out = append(out, strings.TrimSpace(value))
		}
	}
	return out, nil
}

// isMissing reports whether a document is unavailable in the sense of RFC 9309, section
// 2.3.1.3.
func isMissing(err error) bool {
	failed, ok := errors.AsType[*statusError](err)
	return ok && failed.status/100 == 4 && failed.status != http.StatusTooManyRequests && failed.status != http.StatusRequestTimeout
}
