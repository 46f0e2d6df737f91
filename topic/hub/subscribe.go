package hub

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync/internal/pushlog"
	"github.com/resourcesync-go/resourcesync/internal/sparse"
)

// takeForm stores the request in the form of r for verification (WebSub 5.1).
func (h *Hub) takeForm(w http.ResponseWriter, r *http.Request) error {
	body, err := readBody(w, r, maxForm, formTime)
	if err != nil {
		return err
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

	err = h.store.Request(r.Context(), request, pushlog.Limits(h.options.Limits))
	var limit *pushlog.LimitError
	if errors.As(err, &limit) {
		return limited(limit)
	}
	return err
}

// limited returns the response for an exceeded limit. Pending requests are verified soon;
// subscriptions end with their leases.
func limited(e *pushlog.LimitError) error {
	no := &refusal{status: http.StatusTooManyRequests}
	switch e.What {
	case "host":
		no.text = "This callback host has reached its limit of subscriptions. End some."
		no.retry = time.Hour
	case "client":
		no.text = "Your address has reached its limit of subscriptions. End some."
		no.retry = time.Hour
	case "topic":
		no.text = "This topic has reached its limit of subscriptions. Try again later, and poll its Change List meanwhile."
		no.retry = time.Hour
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
