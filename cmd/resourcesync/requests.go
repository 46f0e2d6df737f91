package main

import (
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
		return errors.New("--rate: give a number of requests per second, or 0 for no limit")
	}
	return nil
}

// checkSourceURL returns an error for the URL of a Source with a user, and maybe a password,
// which messages would show.
func checkSourceURL(text string) error {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		return errors.New("leave out the user and the password: the URLs in the documents of the Source have none")
	}
	return nil
}
