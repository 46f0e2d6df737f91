// Package requests has the settings of programs that read Sources: limits of requests and copies, and
// the callback of hubs.
package requests

import (
	"cmp"
	"errors"
	"math"
	"net/netip"
	"net/url"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// Settings bound the requests that mirror and check send to a Source.
type Settings struct {
	Addresses    []netip.Prefix
	Concurrency  int
	Rate         float64
	IgnoreRobots bool
}

func (s *Settings) Declare(c *settings.Catalog) {
	c.Add(
		settings.Setting{Name: "allow-addresses", Value: settings.Prefixes(&s.Addresses), Group: settings.Limits,
			Text: `Private addresses that may be requested, such as 10.1.2.0/24. The host and port of URL may have
				any address, and public addresses are always allowed.`},
		settings.Setting{Name: "concurrency", Value: settings.Int(&s.Concurrency), Default: "4", Group: settings.Limits,
			Text: "The number of concurrent requests to a host."},
		settings.Setting{Name: "rate", Value: settings.Float(&s.Rate), Default: "0",
			Text: `The maximum number of requests per second to a host, such as 5 or 0.5. 0 means no limit. A robots.txt
				may ask for fewer.`},
		settings.Setting{Name: "ignore-robots", Value: settings.Bool(&s.IgnoreRobots), Group: settings.Limits,
			Text: "Request what robots.txt disallows."},
	)
}

func (s *Settings) Check() error {
	var f settings.Faults
	f.If(s.Concurrency < 1 || s.Concurrency > 100, "concurrency", "give a number from 1 to 100")
	f.Add(CheckRate(s.Rate))
	return f.Err()
}

// CopyLimits bound a copy, in bytes.
type CopyLimits struct{ MaxResource, MaxSize, MaxState int64 }

func (l *CopyLimits) Declare(c *settings.Catalog) {
	c.Add(
		settings.Setting{Name: "max-resource", Value: settings.Size(&l.MaxResource), Default: "0", Group: settings.Limits,
			Text: "The maximum size of a resource, such as 4GiB; larger ones are not copied. 0 means no limit."},
		settings.Setting{Name: "max-size", Value: settings.Size(&l.MaxSize), Default: "0", Group: settings.Limits,
			Text: `The maximum size of the copy, such as 1TB. A run that would exceed it fails. 0 means no limit.`},
		settings.Setting{Name: "max-state", Value: settings.Size(&l.MaxState), Default: "16GiB", Group: settings.Limits,
			Text: `The maximum size of the database with the state of the copy, about 500 bytes for each resource. A
				run that needs more fails.`},
	)
}

func CheckRate(rate float64) error {
	if rate >= 0 && !math.IsInf(rate, 0) {
		return nil
	}
	return settings.Fault("rate", "give the maximum number of requests per second to a host, such as 5 or 0.5, or 0 for no limit")
}

// Unlimited returns a rate for packages in which zero is the default.
func Unlimited(rate float64) float64 { return cmp.Or(rate, mostRequests) }

// mostRequests is a number of requests per second that no client reaches.
const mostRequests = 1e6

// CheckURL returns an error for the URL of a Source with a user, and maybe a password,
// which messages would show.
func CheckURL(text string) error {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return errors.New("leave out the user and the password: the URLs in the documents of the Source have none")
	}
	return nil
}
