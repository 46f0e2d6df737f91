package hub

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/pushlog/outgoing"
	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// answerBytes is the maximum number of bytes read of a response to a delivery. They are read
// only so that the connection can be reused.
const answerBytes = 4 << 10

// header returns the header of the deliveries of n (Change Notification 4.1).
func (h *Hub) header(n *pushlog.Notification) http.Header {
	return http.Header{
		"Content-Type":     {"application/xml"},
		"Link":             {outgoing.Links(n.Topic, n.CapabilityList, h.uri)},
		"X-Hub-Message-Id": {messageID(n)},
		"User-Agent":       {"resourcesync-hub"},
		// Not sent. It allows net/http to retry a request on a connection that
		// the callback has just closed.
		"Idempotency-Key": {},
	}
}

// messageID returns an ID that depends on the topic and the content only, so that a
// subscriber recognizes a repeated delivery.
func messageID(n *pushlog.Notification) string {
	sum := sha256.Sum256(slices.Concat([]byte(n.Topic), []byte{0}, n.Body))
	return hex.EncodeToString(sum[:16])
}

// An attempt is the result of sending a message.
type attempt struct {
	status int // of the response, 0 if there was none
	err    error
	after  time.Duration // the time to wait that the response requests
}

// send posts m to the callback of c (WebSub, section 7). It does not use http.Client, which
// would parse the URL each time and handles redirects; see guard.transport.
func (d *deliverer) send(ctx context.Context, c *claim, m *outgoing.Message) (a attempt) {
	if c.url == nil {
		u, err := url.Parse(c.sub.Callback)
		if err != nil {
			return attempt{err: err}
		}
		c.url = u
	}
	header := m.Header
	if c.sub.Secret != nil || d.hub.options.Tracer != nil {
		header = maps.Clone(header)
	}
	if t := d.hub.options.Tracer; t != nil {
		var end func(error)
		ctx, end = t.Start(ctx, "resourcesync.deliver", slog.String("topic", sparse.RedactURI(m.Topic)),
			slog.String("host", c.url.Host), slog.Int64("number", m.Number))
		t.Inject(ctx, header.Set)
		defer func() { end(d.errorOf(a)) }()
	}
	if c.sub.Secret != nil {
		header["X-Hub-Signature"] = []string{sign(d.hub.options.Signature, c.sub.Secret, m.Body)}
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
	resp, err := d.hub.transport.RoundTrip(r.WithContext(ctx))
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
		return fmt.Sprintf("no answer within %v", d.hub.options.Timeout)
	case a.err != nil:
		return reason(a.err)
	case a.status < 200 || a.status > 299:
		return fmt.Sprintf("answered %d %s", a.status, http.StatusText(a.status))
	}
	return ""
}

// errorOf returns the failure of a as an error, or nil if it succeeded.
func (d *deliverer) errorOf(a attempt) error {
	if text := d.failure(a); text != "" {
		return errors.New(text)
	}
	return nil
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// signatures are the supported methods of X-Hub-Signature. WebSub also has sha1, but advises
// against it (section 8.3).
var signatures = map[string]func() hash.Hash{
	"sha256": sha256.New,
	"sha384": sha512.New384,
	"sha512": sha512.New,
}

// sign returns the value of X-Hub-Signature for body, by a method of signatures (WebSub,
// section 7.1).
func sign(method string, secret, body []byte) string {
	mac := hmac.New(signatures[method], secret)
	mac.Write(body)
	var sum [sha512.Size]byte
	return method + "=" + hex.EncodeToString(mac.Sum(sum[:0]))
}
