package publisher

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A failure means that a hub has not accepted a notification.
type failure struct {
	reason string
	final  bool          // the hub will never accept it
	after  time.Duration // the time to wait that the hub requests; zero if none
}

// err returns f, which may be nil, as an error.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	return errors.New(f.reason)
}

// contentType is the exact media type of notifications (Change Notification 4.1).
const contentType = "application/xml"

const maxAnswer = 4 << 10

// mayNeedPing reports whether a hub that expects a form may answer a document with status.
func mayNeedPing(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusGone, http.StatusRequestEntityTooLarge:
		return false
	}
	return true
}

// isTemporary reports whether a client error does not concern the request itself.
func isTemporary(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests
}

// excerpt returns the first line of a plain text response, for operators. It omits a line
// that could contain a query or a secret.
func excerpt(mediaType string, answer []byte, token string) string {
	const most = 200
	mediaType, _, _ = strings.Cut(mediaType, ";")
	line, _, _ := strings.Cut(strings.TrimSpace(string(answer)), "\n")
	line = strings.TrimSpace(line)
	hidden := !utf8.ValidString(line) || strings.ContainsAny(line, "?=&@%") || strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) ||
		token != "" && strings.Contains(line, token)
	if strings.TrimSpace(mediaType) != "text/plain" || line == "" || len(line) > most || hidden {
		return ""
	}
	return ": " + line
}

// cause returns the reason for a failed request, without the URL, whose query may be a
// secret, and without the target of a redirect.
func cause(err error) string {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if text := err.Error(); !strings.ContainsAny(text, "?&@%") {
		return text
	}
	return "the request to the hub failed"
}
