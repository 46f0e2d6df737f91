package operators

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

const (
	// queryTimeout is longer than Timeout, which bounds the response.
	queryTimeout = Timeout + 5*time.Second

	maxStatus = 16 << 20 // bytes
)

// Query returns the JSON of the status at an address, which may be a URL, or an address and port as
// in --status.
func Query(ctx context.Context, at string) ([]byte, error) {
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || !isPort(u.Port()) {
		return nil, settings.Errorf("status %q: give the address of --status, such as %s", at, DefaultAddress)
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, settings.Errorf("%w", err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("no status: %w; is the program running? Its log says why it ended. Start serve, run or mirror with --status %s, or give the address that it uses", err, u.Host)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxStatus))
	switch isJSON := strings.HasPrefix(res.Header.Get("Content-Type"), "application/json"); {
	case err != nil:
		return nil, fmt.Errorf("the status at %s: %w", u, err)
	case !isJSON || res.StatusCode != http.StatusOK && res.StatusCode != http.StatusServiceUnavailable:
		return nil, fmt.Errorf("%s returned %q instead of a status; give the address of --status, not of --listen", u, res.Status)
	}
	return body, nil
}

// isPort reports whether text is the number of a port, or empty.
func isPort(text string) bool {
	_, err := strconv.ParseUint(text, 10, 16)
	return err == nil || text == ""
}
