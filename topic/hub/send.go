package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/retry"
)

// answerBytes is the maximum number of bytes read of a response to a delivery. They are read
// only so that the connection can be reused.
const answerBytes = 4 << 10

var (
	userAgent = []string{"resourcesync-hub"}
	noKey     = []string{}
)

// An attempt is the result of sending a message.
type attempt struct {
	status int // of the response, 0 if there was none
	err    error
	after  time.Duration // the time to wait that the response requests
}

// send posts m to the callback of c (WebSub, section 7). It does not use http.Client, which
// would parse the URL each time and handles redirects; see guard.transport.
func (d *deliverer) send(ctx context.Context, c *claim, m *message) attempt {
	if c.url == nil {
		u, err := url.Parse(c.sub.Callback)
		if err != nil {
			return attempt{err: err}
		}
		c.url = u
	}
	header := http.Header{
		"Content-Type":     m.header[0],
		"Link":             m.header[1],
		"X-Hub-Message-Id": m.header[2],
		"User-Agent":       userAgent,
		// Not sent. It allows net/http to retry a request on a connection that
		// the callback has just closed.
		"Idempotency-Key": noKey,
	}
	if c.sub.Secret != nil {
		header["X-Hub-Signature"] = []string{sign(d.options.Signature, c.sub.Secret, m.Body)}
	}
	body := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.Body)), nil }
	r := &http.Request{
		Method:        http.MethodPost,
		URL:           c.url,
		Host:          c.url.Host,
		Header:        header,
		ContentLength: int64(len(m.Body)),
		GetBody:       body,
	}
	r.Body, _ = body()
	resp, err := d.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return attempt{err: err}
	}
	io.CopyN(io.Discard, resp.Body, answerBytes)
	resp.Body.Close()
	return attempt{status: resp.StatusCode, after: retry.After(resp.Header, time.Now())}
}

// failure returns the error of a for operators, or "" if it succeeded.
func (d *deliverer) failure(a attempt) string {
	switch {
	case a.err != nil && isTimeout(a.err):
		return fmt.Sprintf("no answer within %v", d.options.Timeout)
	case a.err != nil:
		return reason(a.err)
	case a.status < 200 || a.status > 299:
		return fmt.Sprintf("answered %d %s", a.status, http.StatusText(a.status))
	}
	return ""
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}
