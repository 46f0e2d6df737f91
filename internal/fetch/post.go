package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

var errMethod = errors.New("redirects with a status that does not repeat the request")

// Post sends a form once. It follows redirects that repeat the request (307 and 308). If the
// status is not 2xx, the error has the beginning of the response.
func (c *Client) Post(ctx context.Context, uri string, form url.Values) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, uri, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := c.http.Do(r)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = fmt.Errorf("%s: %w", uri, u.Err)
		}
		return err
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if res.StatusCode/100 == 2 {
		return nil
	}
	err = newStatusError(res, uri)
	if said := strings.Join(strings.Fields(strings.ToValidUTF8(string(text), "")), " "); said != "" {
		err = fmt.Errorf("%w: %s", err, sparse.Clip(said))
	}
	return err
}

// Transport returns the transport of c for connections that are not requests, such as
// WebSockets. It dials only addresses that are allowed, sets the User-Agent, and has no other
// limits.
func (c *Client) Transport() http.RoundTripper { return socketTransport{c.hosts} }

type socketTransport struct{ hosts *hosts }

// RoundTrip implements [http.RoundTripper].
func (t socketTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", t.hosts.options.agent(r.URL))
	return t.hosts.transport.RoundTrip(r)
}
