package publisher

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// withDefaults returns o with defaults, or an error if o is invalid. o may be nil.
func withDefaults(o *topic.Options) (topic.Options, error) {
	var out topic.Options
	if o != nil {
		out = *o
	}
	if out.FlushChanges < 0 || out.FlushChanges > rsxml.MaxEntries {
		return out, fmt.Errorf("topic: FlushChanges %d: must be 1 to %d, or 0 for the default", out.FlushChanges, rsxml.MaxEntries)
	}
	if out.Flush < 0 || out.Framework < 0 || out.Timeout < 0 || out.Retry < 0 {
		return out, errors.New("topic: Flush, Framework, Timeout and Retry must not be negative")
	}
	out.Flush = cmp.Or(out.Flush, time.Second)
	out.FlushChanges = cmp.Or(out.FlushChanges, 1000)
	out.Framework = cmp.Or(out.Framework, time.Minute)
	out.Retain = cmp.Or(out.Retain, 14*24*time.Hour)
	out.Timeout = cmp.Or(out.Timeout, 10*time.Second)
	out.Retry = cmp.Or(out.Retry, 2*time.Second)
	if out.Client == nil {
		out.Client = &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			ForceAttemptHTTP2:   true,
			MaxIdleConnsPerHost: 16,
			IdleConnTimeout:     90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second,
		}}
	}
	client := *out.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	out.Client = &client
	if out.Logger == nil {
		out.Logger = slog.Default()
	}
	return out, nil
}
