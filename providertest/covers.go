package providertest

import (
	"context"
	"fmt"
	"net/url"
)

var coverRules = []rule{
	{"Covers/resources", coverer, coversResources},
}

// resources: the resources are covered, by their URIs and by the URLs of
// requests for them.
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
				return fmt.Errorf("%s is not covered, but it is the URL of %s", u, quote(r.Key))
			}
		}
	}
	return nil
}
