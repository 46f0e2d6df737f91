package hub

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Options are the optional arguments of [New].
type Options struct {
	// AllowCallbacks allows callbacks at addresses that are otherwise forbidden, such as
	// addresses in a closed network. Public addresses are always allowed.
	AllowCallbacks []netip.Prefix

	// DefaultLease is the lease of a subscriber that requests none. Others get the
	// requested lease, but at least MinLease and at most MaxLease. All are in whole
	// seconds. If zero, 5 minutes, 31 days and 10 days are used; Change Notification
	// 1.0.1, section 4.2, recommends these limits. A MinLease below 5 minutes is for
	// closed networks and tests, because it lets strangers cause more work.
	MinLease, MaxLease, DefaultLease time.Duration

	// Retry is the time before the first retry of a failed delivery. It doubles with
	// each successive failure, up to six hours. If zero, one minute is used.
	Retry time.Duration

	// GiveUp is the time after which the hub gives up a message and continues with the
	// next one. A message that the subscriber has refused for an hour (4xx, but not
	// 401, 403, 408, 410, 425 or 429) is given up earlier if the subscriber accepts the
	// next one. The log may drop it earlier, too; see topic.Options.Retain. If zero, 3
	// days is used.
	GiveUp time.Duration

	// Limits limit the data that strangers can make the hub store. Requests beyond
	// them are answered 429. A field that is zero has the value of DefaultLimits; a
	// negative one means no limit.
	Limits Limits

	// Client identifies the client of a request for Limits.Client. Behind a proxy it
	// must read a header that the proxy sets. If nil, the address of the connection is
	// used, and of an IPv6 address the first 64 bits.
	Client func(r *http.Request) string

	// Workers is the maximum number of concurrent deliveries, and PerHost the maximum
	// number to one host, as defined by Limits. If zero, 512 and 8 are used.
	Workers, PerHost int

	// Signature is the method of signatures: "sha256", "sha384" or "sha512".
	// If empty, sha256 is used.
	Signature string

	// Timeout is the time limit of a request to a callback and its response, at most
	// 15 seconds. If zero, 10 seconds is used.
	Timeout time.Duration

	// Resolver resolves the hosts of callbacks. Every address that it returns is
	// checked before it is dialled. If nil, net.DefaultResolver is used.
	Resolver *net.Resolver

	// Tracer records a span for each delivery, and can add header fields that identify
	// it. If nil, nothing is traced.
	Tracer resourcesync.Tracer

	// Logger receives errors, which strangers do not see. If nil, slog.Default() is
	// used.
	Logger *slog.Logger
}

// Limits limit the data that strangers can make the hub store. A request that replaces an
// earlier one counts once. Host, Client and Topic do not limit requests about existing
// subscriptions. All ports of a name or of an IPv4 address are one host, and so are all
// IPv6 addresses with the same first 64 bits.
type Limits struct {
	Host          int // subscriptions and requests of one callback host
	HostPending   int // requests that await verification, of one callback host
	Client        int // subscriptions and requests of one client address
	ClientPending int // requests that await verification, of one client address
	Topic         int // subscriptions and requests of one topic
	Pending       int // requests that await verification, in total
}

// DefaultLimits are the limits for fields of Options.Limits that are zero.
var DefaultLimits = Limits{Host: 1000, HostPending: 50, Client: 10_000, ClientPending: 200, Topic: 100_000, Pending: 10_000}

// withDefaults returns o with defaults, or an error if o is invalid. o may be nil.
func (o *Options) withDefaults() (Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	out.MinLease = cmp.Or(out.MinLease, 300*time.Second)
	out.MaxLease = cmp.Or(out.MaxLease, 2_678_400*time.Second)
	out.DefaultLease = cmp.Or(out.DefaultLease, max(out.MinLease, min(out.MaxLease, 10*24*time.Hour)))
	out.Retry = cmp.Or(out.Retry, time.Minute)
	out.GiveUp = cmp.Or(out.GiveUp, 3*24*time.Hour)
	out.Workers = cmp.Or(out.Workers, 512)
	out.PerHost = cmp.Or(out.PerHost, 8)
	out.Signature = cmp.Or(out.Signature, "sha256")
	out.Timeout = cmp.Or(out.Timeout, 10*time.Second)
	out.Logger = cmp.Or(out.Logger, slog.Default())
	if out.Client == nil {
		out.Client = client.Of
	}
	for _, l := range []struct{ field, otherwise *int }{
		{&out.Limits.Host, &DefaultLimits.Host},
		{&out.Limits.HostPending, &DefaultLimits.HostPending},
		{&out.Limits.Client, &DefaultLimits.Client},
		{&out.Limits.ClientPending, &DefaultLimits.ClientPending},
		{&out.Limits.Topic, &DefaultLimits.Topic},
		{&out.Limits.Pending, &DefaultLimits.Pending},
	} {
		*l.field = max(cmp.Or(*l.field, *l.otherwise), 0)
	}
	for _, lease := range []time.Duration{out.MinLease, out.DefaultLease, out.MaxLease} {
		if lease < time.Second || lease%time.Second != 0 {
			return out, fmt.Errorf("hub: a lease of %v: must be whole seconds, at least one", lease)
		}
	}
	switch {
	case out.MinLease > out.DefaultLease || out.DefaultLease > out.MaxLease:
		return out, errors.New("hub: MinLease must not exceed DefaultLease, nor DefaultLease MaxLease")
	case out.Retry < 0 || out.GiveUp < 0 || out.Workers < 0 || out.PerHost < 0:
		return out, errors.New("hub: Retry, GiveUp, Workers and PerHost must not be negative")
	case out.Timeout < 0 || out.Timeout > pushlog.VerifyTime/2:
		return out, fmt.Errorf("hub: Timeout must be between 0 and %v", pushlog.VerifyTime/2)
	case signatures[out.Signature] == nil:
		return out, fmt.Errorf("hub: Signature %q: must be sha256, sha384 or sha512", out.Signature)
	}
	for _, p := range out.AllowCallbacks {
		if !p.IsValid() || p.Bits() == 0 || p.Addr().Is4In6() {
			return out, fmt.Errorf("hub: AllowCallbacks: %v: must be a prefix of some addresses but not of all, such as 10.1.2.0/24 or fd12::/48", p)
		}
	}
	return out, nil
}
