package main

import (
	"cmp"
	"errors"
	"flag"
	"math"
	"net/url"
)

// requestSettings bound the requests that mirror and check send to a Source.
type requestSettings struct {
	addresses    addresses
	concurrency  int
	rate         float64
	ignoreRobots bool
}

func (s *requestSettings) flags(flags *flag.FlagSet) {
	flags.Func("allow-addresses", "", s.addresses.add)
	flags.IntVar(&s.concurrency, "concurrency", 4, "")
	flags.Float64Var(&s.rate, "rate", 0, "")
	flags.BoolVar(&s.ignoreRobots, "ignore-robots", false, "")
}

func (s *requestSettings) check() error {
	switch {
	case s.concurrency < 1 || s.concurrency > 100:
		return errors.New("--concurrency: give a number from 1 to 100")
	case !(s.rate >= 0) || math.IsInf(s.rate, 0):
		return errRate
	}
	return nil
}

var errRate = usagef("--rate: give the maximum number of requests per second to a host, such as 5 or 0.5, or 0 for no limit")

// unlimited returns a rate for packages in which zero is the default.
func unlimited(rate float64) float64 { return cmp.Or(rate, mostRequests) }

// mostRequests is a number of requests per second that nobody reaches.
const mostRequests = 1e6

// checkSourceURL returns an error for the URL of a Source with a user, and maybe a password,
// which messages would show.
func checkSourceURL(text string) error {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return errors.New("leave out the user and the password: the URLs in the documents of the Source have none")
	}
	return nil
}
