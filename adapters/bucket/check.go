package bucket

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// checkers is the number of anonymous requests at a time.
	checkers = 16

	// checkTimeout is the maximum duration of a request.
	checkTimeout = 30 * time.Second

	// Not more than mostFailed requests of a scan may fail if they are also more than
	// half of all: then the URIs cannot be reached at all.
	mostFailed = 50
)

// A verdict is the answer to an anonymous request for an object.
type verdict struct {
	header http.Header // of an object that everybody can read
	status string      // of one that is withheld
	err    error       // the request failed, and nothing is known
}

// checkAll requests the objects, several at a time. It returns the verdicts in order.
func (b *Bucket) checkAll(ctx context.Context, objects []*object) []verdict {
	verdicts := make([]verdict, len(objects))
	var g errgroup.Group
	g.SetLimit(checkers)
	for i, o := range objects {
		g.Go(func() error {
			verdicts[i] = b.check(ctx, o)
			return nil
		})
	}
	_ = g.Wait()
	return verdicts
}

// check requests an object without credentials.
func (b *Bucket) check(ctx context.Context, o *object) verdict {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, b.template.uri(o.Key), nil)
	if err != nil {
		return verdict{err: err}
	}
	// With another coding, Content-Length would differ from the length of the object.
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", b.options.UserAgent)
	res, err := b.client.Do(req)
	if err != nil {
		return verdict{err: err}
	}
	res.Body.Close()
	switch s := res.StatusCode; {
	case s == http.StatusOK:
		if n := res.ContentLength; n >= 0 && n != o.Size && res.Header.Get("Content-Encoding") == "" {
			return verdict{err: fmt.Errorf("it has %d bytes at its URI and %d in the bucket", n, o.Size)}
		}
		return verdict{header: res.Header}
	case s == http.StatusTooManyRequests || s == http.StatusRequestTimeout || s >= 500:
		return verdict{err: fmt.Errorf("the response is %s", res.Status)}
	}
	return verdict{status: res.Status}
}

// mediaType returns the media type of a response without parameters, or "".
func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || !strings.Contains(t, "/") {
		return ""
	}
	return t
}

// contentEncoding returns the content coding with which the object is stored, or "".
func contentEncoding(h http.Header) string {
	coding := h.Get("Content-Encoding")
	if coding == "identity" || coding == "aws-chunked" || strings.ContainsAny(coding, "\"<>\r\n") {
		return ""
	}
	return coding
}

// withheld are the objects that cannot be read without credentials, as hashes of their
// names and versions, up to maxWithheld. Not every scan requests them.
type withheld map[uint64]struct{}

const maxWithheld = 1 << 20

func (w withheld) add(hash uint64) {
	if len(w) < maxWithheld {
		w[hash] = struct{}{}
	}
}

func (w withheld) has(hash uint64) bool {
	_, ok := w[hash]
	return ok
}

// hash returns a hash of text that is the same in all processes (FNV-1a, mixed so that
// all bits depend on all bytes).
func hash[T string | []byte](text T) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	h = (h ^ h>>32) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// isDue reports whether an unchanged object must be requested again. Each object is due
// once in every period of Options.VerifyEvery, at a time that depends on its key. Objects
// that were due before after have been requested.
func (b *Bucket) isDue(key string, after, now time.Time) bool {
	period := b.options.VerifyEvery
	if period < 0 || b.options.Private {
		return false
	}
	at := time.Duration(hash(key) % uint64(period))
	since := (time.Duration(now.UnixNano())%period - at + period) % period // its time
	return since < now.Sub(after)
}
