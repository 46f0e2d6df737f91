package main

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// A span is a flag.Value: a duration that may also be given in days, as 90d.
type span time.Duration

func (s *span) Set(text string) error {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16) // which cannot be more than a time.Duration holds
		*s = span(n) * span(day)
		return spanError(err)
	}
	d, err := time.ParseDuration(text)
	*s = span(d)
	return spanError(err)
}

func spanError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New("give a time with its unit, such as 30m, 48h or 90d")
}

func (s *span) String() string {
	if d := time.Duration(*s); d%day != 0 {
		return d.String()
	}
	return strconv.Itoa(int(time.Duration(*s)/day)) + "d"
}
