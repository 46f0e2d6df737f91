package settings

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Day is the unit d of durations.
const Day = 24 * time.Hour

type text string

// Text stores a text.
func Text(to *string) Value { return (*text)(to) }

func (t *text) Set(given string) error {
	*t = text(given)
	return nil
}

type boolean bool

// Bool stores true or false. Its flag needs no value.
func Bool(to *bool) Value { return (*boolean)(to) }

func (b *boolean) Set(given string) error {
	v, err := strconv.ParseBool(given)
	if err != nil {
		return errors.New("give true or false")
	}
	*b = boolean(v)
	return nil
}

type number int

// Int stores a whole number. Digits may be divided by underscores.
func Int(to *int) Value { return (*number)(to) }

func (n *number) Set(given string) error {
	v, err := strconv.ParseInt(given, 0, strconv.IntSize)
	if err != nil {
		return errors.New("give a whole number, such as 100")
	}
	*n = number(v)
	return nil
}

type decimal float64

// Float stores a number.
func Float(to *float64) Value { return (*decimal)(to) }

func (d *decimal) Set(given string) error {
	v, err := strconv.ParseFloat(given, 64)
	if err != nil {
		return errors.New("give a number, such as 5 or 0.5")
	}
	*d = decimal(v)
	return nil
}

// units are the units of sizes; those that end like another one come first.
var units = []struct {
	name  string
	bytes int64
}{
	{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
}

type size int64

// Size stores a number of bytes that may be given in units, as 500MB or 4GiB.
func Size(to *int64) Value { return (*size)(to) }

func (s *size) Set(given string) error {
	unit := int64(1)
	for _, u := range units {
		if number, ok := strings.CutSuffix(given, u.name); ok {
			given, unit = number, u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return errors.New("give a whole number of bytes, such as 500MB or 4GiB")
	}
	*s = size(n * unit)
	return nil
}

type span time.Duration

// Span stores a duration that may also be given in days, as 90d.
func Span(to *time.Duration) Value { return (*span)(to) }

func (s *span) Set(given string) error {
	d, err := time.ParseDuration(given)
	if days, ok := strings.CutSuffix(given, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16) // which cannot be more than a time.Duration holds
		d = time.Duration(n) * Day
	}
	if err != nil {
		return errors.New("give a time with its unit, such as 30m, 48h or 90d")
	}
	*s = span(d)
	return nil
}

// SpanText formats a duration in a form that Span accepts.
func SpanText(d time.Duration) string {
	if d%Day != 0 {
		return d.String()
	}
	return strconv.Itoa(int(d/Day)) + "d"
}

type percent float64

// Percent stores a part of a whole, from 0 to 1, which is given as 25%.
func Percent(to *float64) Value { return (*percent)(to) }

func (p *percent) Set(given string) error {
	number, ok := strings.CutSuffix(given, "%")
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(n >= 0 && n <= 100) {
		return errors.New("give a percentage from 0% to 100%, such as 25%")
	}
	*p = percent(n / 100)
	return nil
}

type choice struct {
	to    *string
	words []string
}

// Choice stores one of some words.
func Choice(to *string, words ...string) Value { return &choice{to, words} }

func (c *choice) Set(given string) error {
	if !slices.Contains(c.words, given) {
		last := len(c.words) - 1
		return fmt.Errorf("give %s or %s", strings.Join(c.words[:last], ", "), c.words[last])
	}
	*c.to = given
	return nil
}

// Func passes a value to a function.
type Func func(given string) error

// Set implements [Value].
func (f Func) Set(given string) error { return f(given) }

// Each passes each of several values to a function.
type Each func(given string) error

// Set implements [Value].
func (e Each) Set(given string) error { return e(given) }

func (Each) repeated() {}

type list []string

// List stores several texts.
func List(to *[]string) Value { return (*list)(to) }

func (l *list) Set(given string) error {
	*l = append(*l, given)
	return nil
}

func (*list) repeated() {}

type prefixes []netip.Prefix

// Prefixes stores several addresses, or ranges of them.
func Prefixes(to *[]netip.Prefix) Value { return (*prefixes)(to) }

func (p *prefixes) Set(given string) error {
	prefix, err := netip.ParsePrefix(given)
	if err != nil {
		addr, addrErr := netip.ParseAddr(given)
		if addrErr != nil || addr.Zone() != "" {
			return errors.New("give a range of addresses, such as 10.1.2.0/24 or fd12::/48")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	*p = append(*p, prefix.Masked())
	return nil
}

func (*prefixes) repeated() {}
