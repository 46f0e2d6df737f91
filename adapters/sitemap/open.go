package sitemap

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"

	"github.com/resourcesync-go/resourcesync"
)

var _ resourcesync.Opener = (*Site)(nil)

// Open implements [resourcesync.Opener]: it requests the page from the site, within the
// rate limit of scans. If the page is no longer public, the error is fs.ErrNotExist.
// Open does not detect changed content: callers must verify the hashes of r.
func (s *Site) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	u, err := url.Parse(r.URI)
	if err != nil {
		return nil, fmt.Errorf("sitemap: %w", err)
	}
	if _, ok := s.key(u); !ok {
		return nil, fmt.Errorf("sitemap: %s does not belong to the site: %w", r.URI, fs.ErrNotExist)
	}
	res, err := s.client.do(ctx, http.MethodGet, u, http.Header{"Accept-Encoding": {"identity"}})
	if err != nil {
		return nil, fmt.Errorf("sitemap: %w", err)
	}
	if res.StatusCode == http.StatusOK {
		return res.Body, nil
	}
	res.Body.Close()
	if isRefusal(res.StatusCode) || isRedirect(res.StatusCode) {
		return nil, fmt.Errorf("sitemap: %s answered %d: %w", r.URI, res.StatusCode, fs.ErrNotExist)
	}
	return nil, &statusError{status: res.StatusCode}
}
