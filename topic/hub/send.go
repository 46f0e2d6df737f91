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

// answerBytes is how much of an answer to a delivery is read, for nothing but to
// use the connection again.
const answerBytes = 4 << 10

var (
	userAgent = []string{"resourcesync-hub"}
	noKey     = []string{}
)

// An attempt is what came of sending a message.
type attempt struct {
	status int // of the answer, 0 if there was none
	err    error
	after  time.Duration // that the answer asks to wait
}

// send posts m to the callback of c (WebSub, section 7). It goes past http.Client,
// which would parse the URL each time and has redirects in mind: what is left is
// what the guard of the transport is for.
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
		// Never sent. It tells net/http that what is sent over a connection
		// that the callback is just closing may be sent again.
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

// failure returns what is wrong with a, fit for operators; "" if nothing.
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
