package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/retry"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
)

// ErrInternal means that a URL leads to an internal address.
var ErrInternal = errors.New("the address is not public, and is not allowed explicitly")

// An InternalError is an [ErrInternal] of an address.
type InternalError struct{ Address netip.Addr }

func (e *InternalError) Error() string { return fmt.Sprintf("%v: %s", ErrInternal, e.Address) }

// Is implements the interface of [errors.Is].
func (e *InternalError) Is(target error) bool { return target == ErrInternal }

// A StatusError is a response with an unexpected status.
type StatusError struct {
	Status int
	URL    string
	Body   []byte    // its first 4 KiB
	Until  time.Time // when the server wants the next request (Retry-After), or zero

	contentRange string
}

// IsGone reports whether err means that the resource does not exist: 404 or 410.
func IsGone(err error) bool {
	failed, ok := errors.AsType[*StatusError](err)
	return ok && (failed.Status == http.StatusNotFound || failed.Status == http.StatusGone)
}

func newStatusError(res *http.Response, uri string) *StatusError {
	e := &StatusError{Status: res.StatusCode, URL: uri, contentRange: res.Header.Get("Content-Range")}
	now := time.Now()
	if asked := retry.After(res.Header, now); asked > 0 {
		e.Until = now.Add(min(asked, maxAsked))
	}
	return e
}

func (e *StatusError) Error() string {
	if !e.Until.IsZero() {
		return fmt.Sprintf("%s answered %d %s, and asks for the next request at %s", e.URL, e.Status, http.StatusText(e.Status), timetext.Of(e.Until))
	}
	return fmt.Sprintf("%s answered %d %s", e.URL, e.Status, http.StatusText(e.Status))
}

// IsStatus reports whether err is a response with one of the statuses.
func IsStatus(err error, statuses ...int) bool {
	failed, ok := errors.AsType[*StatusError](err)
	for _, s := range statuses {
		if ok && failed.Status == s {
			return true
		}
	}
	return false
}
