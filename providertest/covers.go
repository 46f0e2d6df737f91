package providertest

import (
	"context"
	"fmt"
	"net/url"
)

var coverRules = []rule{
	{"Covers/resources", coverer, coversResources},
}

// resources: Covers reports true for the URIs of the resources and for the URLs of requests
// for them.
func coversResources(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	for _, r := range all {
		u, err := url.Parse(r.URI)
		if err != nil || u.Opaque != "" {
			continue // no URL that a request could be for
		}
		request, err := url.ParseRequestURI(u.RequestURI())
		if err != nil {
			continue
		}
		for _, u := range []*url.URL{u, request} {
			if !s.coverer.Covers(u) {
				return fmt.Errorf("Covers reports false for %s, the URL of %s", u, quote(r.Key))
			}
		}
	}
	return nil
}
