package hub

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/reqbody"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// maxForm is the maximum size of a request's form, in bytes, and formTime the maximum time
// for it to arrive.
const (
	maxForm  = 64 << 10
	formTime = 10 * time.Second
)

// A refusal is an error response.
type refusal struct {
	status int
	text   string
	retry  time.Duration // Retry-After; zero if not stated
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status: status, text: fmt.Sprintf(format, args...)}
}

// ServeHTTP accepts requests to subscribe and unsubscribe with 202 (WebSub 5.1). Errors are
// plain text with a remedy. GET returns a description of the hub.
//
// It ignores the path of the request. The server must limit the time for headers.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if !reqbody.None(w, r) {
			return
		}
		answer(w, http.StatusOK, "This is a WebSub hub (https://www.w3.org/TR/websub/) for ResourceSync notifications.\n"+
			"To subscribe, POST a form with hub.mode=subscribe, hub.topic, hub.callback, and\n"+
			"if you like hub.lease_seconds and hub.secret. The topics are in the Source's Capability Lists.")
		return
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		h.refused(w, r, refuse(http.StatusMethodNotAllowed, "Use POST to subscribe."))
		return
	}
	mediaType, err := contentType(r.Header)
	switch {
	case err != nil:
	case mediaType == "application/x-www-form-urlencoded":
		err = h.takeForm(w, r)
	case mediaType == "application/xml":
		err = refuse(http.StatusForbidden, "This hub takes notifications only from its own Source.")
	default:
		err = refuse(http.StatusUnsupportedMediaType, "The Content-Type must be application/x-www-form-urlencoded.")
	}
	if err != nil {
		h.refused(w, r, err)
		return
	}
	h.counters.requests.Add(1)
	answer(w, http.StatusAccepted, "Accepted. The callback will be asked to confirm.")
}

// contentType returns the media type of a body, which must be in UTF-8 and without a content
// coding.
func contentType(header http.Header) (string, error) {
	if e := header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return "", refuse(http.StatusUnsupportedMediaType, "Send the body without Content-Encoding.")
	}
	values := header.Values("Content-Type")
	if len(values) != 1 {
		return "", refuse(http.StatusUnsupportedMediaType, "Send one Content-Type: application/x-www-form-urlencoded to subscribe.")
	}
	mediaType, params, err := mime.ParseMediaType(values[0])
	if err != nil {
		return "", refuse(http.StatusUnsupportedMediaType, "The Content-Type cannot be read: send application/x-www-form-urlencoded to subscribe.")
	}
	if c := params["charset"]; c != "" && !strings.EqualFold(c, "utf-8") {
		return "", refuse(http.StatusUnsupportedMediaType, "Send the body in UTF-8.")
	}
	return mediaType, nil
}

// readBody reads the body of r, which has at most limit bytes and arrives within
// timeout.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, timeout time.Duration) ([]byte, error) {
	b, err := reqbody.Read(w, r, limit, timeout)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, refuse(http.StatusRequestEntityTooLarge, "The body has more than %d bytes.", limit)
	case err != nil:
		return nil, refuse(http.StatusBadRequest, "The body is incomplete.")
	}
	return b, nil
}

// refused answers with err, and logs it if it is not an error of the client.
func (h *Hub) refused(w http.ResponseWriter, r *http.Request, err error) {
	var no *refusal
	if !errors.As(err, &no) {
		if r.Context().Err() == nil {
			h.sparse.Log(r.Context(), h.log, slog.LevelError, "hub: requests cannot be stored; clients must try again", slog.Any("error", err))
		}
		no = &refusal{status: http.StatusServiceUnavailable, text: "The hub cannot store this now. Try again.", retry: 5 * time.Second}
	}
	switch {
	case no.status == http.StatusTooManyRequests:
		h.counters.limited.Add(1)
	case no.status < 500:
		h.counters.refused.Add(1)
	}
	if no.retry != 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(no.retry/time.Second)))
	}
	reqbody.None(w, r) // the body may not have been read
	answer(w, no.status, sparse.Clip(no.text))
}

// answer writes a response that browsers treat as plain text, whatever its content.
func answer(w http.ResponseWriter, status int, text string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The text is optional; writing fails if the client has left.
	_, _ = io.WriteString(w, text+"\n")
}
