package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// units are the units of sizes, larger ones first.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

// A size is a flag.Value: a number of bytes that may be given in units, as 500MB
// or 4GiB.
type size int64

func (s *size) Set(text string) error {
	unit := int64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(text, u.name); ok {
			text, unit = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return errors.New("give a whole number of bytes, such as 500MB or 4GiB")
	}
	*s = size(n * unit)
	return nil
}

func (s *size) String() string {
	for _, u := range units {
		if n := int64(*s); n > 0 && n%u.bytes == 0 && u.bytes > 1 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*s), 10)
}
