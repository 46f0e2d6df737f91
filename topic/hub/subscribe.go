package hub

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
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
	h.requestTotals.Count(func(n *Requests) { n.Accepted++ })
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

// refused answers with err, and logs it if it is not an error of the client.
func (h *Hub) refused(w http.ResponseWriter, r *http.Request, err error) {
	no, ok := errors.AsType[*refusal](err)
	if !ok {
		if r.Context().Err() == nil {
			h.sparse.Log(r.Context(), h.log, slog.LevelError, "hub: requests cannot be stored; clients must try again", slog.Any("error", err))
		}
		no = &refusal{status: http.StatusServiceUnavailable, text: "The hub cannot store this now. Try again.", retry: 5 * time.Second}
	}
	h.requestTotals.Count(func(n *Requests) {
		switch {
		case no.status == http.StatusTooManyRequests:
			n.Limited++
		case no.status < 500:
			n.Refused++
		}
	})
	if no.retry != 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(no.retry/time.Second)))
	}
	reqbody.None(w, r) // the body may not have been read
	answer(w, no.status, sparse.Clip(no.text))
}

// answer writes a response that browsers treat as plain text, with any content.
func answer(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, text, status)
}

// takeForm stores the request in the form of r for verification (WebSub 5.1).
func (h *Hub) takeForm(w http.ResponseWriter, r *http.Request) error {
	body, err := reqbody.Read(w, r, maxForm, formTime)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return refuse(http.StatusRequestEntityTooLarge, "The body has more than %d bytes.", maxForm)
	} else if err != nil {
		return refuse(http.StatusBadRequest, "The body is incomplete.")
	}
	form, err := parseForm(string(body))
	if err != nil {
		return err
	}
	request, err := h.readForm(r.Context(), form)
	if err != nil {
		return err
	}
	request.Client = h.options.Client(r)
	request.Made = time.Now()

	r.Form = form // for observers
	err = h.store.Request(r.Context(), request, pushlog.Limits(h.options.Limits))
	if limit, ok := errors.AsType[*pushlog.LimitError](err); ok {
		return limited(limit)
	}
	return err
}

// limited returns the response for an exceeded limit. Pending requests are verified soon;
// subscriptions end with their leases.
func limited(e *pushlog.LimitError) error {
	no := &refusal{status: http.StatusTooManyRequests, retry: time.Hour}
	switch e.What {
	case "host":
		no.text = "This callback host has reached its limit of subscriptions. End some."
	case "client":
		no.text = "Your address has reached its limit of subscriptions. End some."
	case "topic":
		no.text = "This topic has reached its limit of subscriptions. Try again later, and poll its Change List meanwhile."
	default:
		no.text = "Too many requests await verification. Try again soon."
		no.retry = 10 * time.Second
	}
	return no
}

// parseForm parses the parameters of a form. Unknown parameters are ignored, but no
// parameter of WebSub may be repeated.
func parseForm(body string) (url.Values, error) {
	form, err := url.ParseQuery(body)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "The form cannot be read: separate parameters by & and percent-encode them.")
	}
	for name, values := range form {
		if !strings.HasPrefix(name, "hub.") {
			continue
		}
		if len(values) != 1 {
			return nil, refuse(http.StatusBadRequest, "%q is repeated: send it once.", name)
		}
		if !utf8.ValidString(values[0]) {
			return nil, refuse(http.StatusBadRequest, "%q is not in UTF-8.", name)
		}
	}
	return form, nil
}

// readForm returns the request of a form. An empty parameter counts as missing.
func (h *Hub) readForm(ctx context.Context, form url.Values) (pushlog.Request, error) {
	r := pushlog.Request{
		Topic:    form.Get("hub.topic"),
		Callback: form.Get("hub.callback"),
	}
	switch mode := form.Get("hub.mode"); mode {
	case "subscribe":
	case "unsubscribe":
		r.End = true
	case "publish":
		return r, refuse(http.StatusBadRequest, "This hub takes notifications only from its own Source.")
	default:
		return r, refuse(http.StatusBadRequest, "hub.mode must be subscribe or unsubscribe.")
	}
	if r.Topic == "" || r.Callback == "" {
		return r, refuse(http.StatusBadRequest, "hub.topic and hub.callback must be given.")
	}
	if !h.serves(r.Topic) {
		return r, refuse(http.StatusForbidden, "This hub does not serve that topic: take hub.topic from the Source's Capability List, letter by letter.")
	}
	host, err := h.guard.callback(r.Callback)
	switch {
	case errors.Is(err, errForbidden):
		h.sparse.Log(ctx, h.log, slog.LevelInfo, "hub: a callback is refused",
			slog.String("callback", sparse.RedactURI(r.Callback)), slog.Any("error", err))
		return r, refuse(http.StatusForbidden, "hub.callback leads to an address that this hub does not call: use a public one.")
	case err != nil:
		return r, refuse(http.StatusBadRequest, "hub.callback cannot be used: %s.", strings.TrimPrefix(err.Error(), "rsxml: "))
	}
	r.Host = host
	if r.End {
		return r, nil // the other parameters are ignored
	}
	if secret := form.Get("hub.secret"); secret != "" {
		if len(secret) >= 200 {
			return r, refuse(http.StatusBadRequest, "hub.secret has %d bytes: it must have less than 200.", len(secret))
		}
		r.Secret = []byte(secret)
	}
	r.Lease, err = h.lease(form.Get("hub.lease_seconds"))
	return r, err
}

// lease returns the lease granted for a request of seconds.
func (h *Hub) lease(seconds string) (time.Duration, error) {
	o := &h.options
	if seconds == "" {
		return o.DefaultLease, nil
	}
	if strings.Trim(seconds, "0123456789") != "" {
		return 0, refuse(http.StatusBadRequest, "hub.lease_seconds must be a whole number of seconds.")
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n > int64(o.MaxLease/time.Second) {
		return o.MaxLease, nil // too large for an integer, so above the maximum
	}
	return max(o.MinLease, time.Duration(n)*time.Second), nil
}
