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

	"github.com/resourcesync-go/resourcesync/internal/client"
	"github.com/resourcesync-go/resourcesync/internal/pushlog"
)

// Options configure a [Hub]. The zero value is a reasonable default.
type Options struct {
	// AllowCallbacks opens addresses that callbacks must not lead to otherwise,
	// such as those of a closed network. It opens exactly these; public
	// addresses are open anyway.
	AllowCallbacks []netip.Prefix

	// DefaultLease is what a subscriber gets who asks for no lease; others
	// get what they ask for, but at least MinLease and at most MaxLease. In
	// whole seconds. If zero, 10 days, 5 minutes and 31 days are used (the
	// bounds that Change Notification 1.0.1, section 4.2, recommends). A
	// MinLease below 5 minutes is for closed networks and tests: it lets
	// strangers have us work more.
	MinLease, MaxLease, DefaultLease time.Duration

	// Retry is the time after which a delivery that has failed is tried
	// again; it doubles with each failure. If zero, one minute is used.
	Retry time.Duration

	// GiveUp is for how long a message is tried before it is given up, and
	// the next one is tried. The log may drop it earlier: see
	// topic.Options.Retain. If zero, 3 days is used.
	GiveUp time.Duration

	// Limits bound what strangers can make the hub keep; requests beyond are
	// answered 429. Where a field is zero, DefaultLimits has it; a negative
	// one is no limit.
	Limits Limits

	// Client returns what Limits.Client counts by: the address that a request
	// comes from. Behind a proxy it must be taken from a header that the
	// proxy sets. If nil, it is the address of the connection, of an IPv6
	// address the first 64 bits.
	Client func(r *http.Request) string

	// Workers is how many requests to callbacks may be in flight at the
	// same time, for deliveries; PerHost is how many of them to one host,
	// which is what Limits count as one. If zero, 512 and 8 are used.
	Workers, PerHost int

	// Signature is the method of signatures: "sha256", "sha384" or "sha512".
	// If empty, sha256 is used.
	Signature string

	// Timeout ends a request to a callback, its answer included: at most 15
	// seconds. If zero, 10 seconds is used.
	Timeout time.Duration

	// Resolver finds the addresses of callbacks. Which of them may be dialled
	// does not depend on it. If nil, net.DefaultResolver is used.
	Resolver *net.Resolver

	// Logger receives what strangers are not told. If nil, slog.Default() is
	// used.
	Logger *slog.Logger
}

// Limits bound what strangers can make the hub keep. Zero is no limit. What a request
// replaces is not counted. Host, Client and Topic do not bound requests about an
// existing subscription. All ports of a name or of an IPv4 address are one host, and
// so are all IPv6 addresses with the same first 64 bits.
type Limits struct {
	Host          int // subscriptions and requests of one callback host
	HostPending   int // requests that await verification, of one callback host
	Client        int // subscriptions and requests of one client address
	ClientPending int // requests that await verification, of one client address
	Topic         int // subscriptions and requests of one topic
	Pending       int // requests that await verification, in all
}

// DefaultLimits are used where Options.Limits are zero.
var DefaultLimits = Limits{Host: 1000, HostPending: 50, Client: 10_000, ClientPending: 200, Topic: 100_000, Pending: 10_000}

// withDefaults returns the options to work with, or what is wrong with o.
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
	if out.Client == nil {
		out.Client = client.Of
	}
	if out.Logger == nil {
		out.Logger = slog.Default()
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
		return out, errors.New("hub: MinLease, DefaultLease and MaxLease must rise in this order")
	case out.Retry < 0 || out.GiveUp < 0 || out.Workers < 0 || out.PerHost < 0:
		return out, errors.New("hub: Retry, GiveUp, Workers and PerHost must not be negative")
	case out.Timeout < 0 || out.Timeout > pushlog.VerifyTime/2:
		return out, fmt.Errorf("hub: Timeout must be between 0 and %v", pushlog.VerifyTime/2)
	case out.Signature != "sha256" && out.Signature != "sha384" && out.Signature != "sha512":
		return out, fmt.Errorf("hub: Signature %q: must be sha256, sha384 or sha512", out.Signature)
	}
	for _, p := range out.AllowCallbacks {
		if !p.IsValid() || p.Bits() == 0 || p.Addr().Is4In6() {
			return out, fmt.Errorf("hub: AllowCallbacks: %v: must be a prefix of some addresses, not of all, like 10.1.2.0/24 or fd12::/48", p)
		}
	}
	return out, nil
}
