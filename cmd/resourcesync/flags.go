package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/edits"
)

func newFlags(command string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run reports errors, in one line
	return flags
}

// parse sets flags from the arguments and, if they are not among these, from the
// environment. It returns the other arguments, which flags may follow. The error is
// flag.ErrHelp for --help.
func parse(flags *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, suggestFlag(err, flags)
		}
		if flags.NArg() == 0 {
			if err := checkVariables(); err != nil {
				return nil, err
			}
			_, err := apply(flags, setNames(flags), environment(flags))
			return others, err
		}
		others = append(others, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// setDefault changes the default of a flag.
func setDefault(flags *flag.FlagSet, name, value string) {
	f := flags.Lookup(name)
	if err := f.Value.Set(value); err != nil {
		panic(err) // the tests read the defaults of all flags
	}
	f.DefValue = f.Value.String()
}

// refuse makes err, an error of the flags of a command, a usageError that names the help.
func refuse(command string, err error) error {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usagef(`%s: %w; "resourcesync %s --help" explains the flags`, command, err, command)
}

// didYouMean returns a question that suggests the name closest to the given one, or
// "" if none is close.
func didYouMean(given string, names []string, prefix string) string {
	best, fewest := "", 3
	for _, name := range names {
		if d := edits.Distance(given, name, fewest-1); d < fewest && d < len(name) {
			best, fewest = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

func suggestFlag(err error, flags *flag.FlagSet) error {
	given, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if !ok {
		return err
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	given = strings.TrimLeft(given, "-")
	return fmt.Errorf("there is no flag --%s%s", given, didYouMean(given, names, "--"))
}

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

const day = 24 * time.Hour

// A span is a flag.Value: a duration that may also be given in days, as 90d.
type span time.Duration

func (s *span) Set(text string) error {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16) // which cannot be more than a time.Duration holds
		d = time.Duration(n) * day
	}
	if err != nil {
		return errors.New("give a time with its unit, such as 30m, 48h or 90d")
	}
	*s = span(d)
	return nil
}

func (s *span) String() string {
	if d := time.Duration(*s); d%day != 0 {
		return d.String()
	}
	return strconv.Itoa(int(time.Duration(*s)/day)) + "d"
}

// A percent is a flag.Value: a part of a whole, written as 25%.
type percent float64

func (p *percent) Set(text string) error {
	number, ok := strings.CutSuffix(text, "%")
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(n >= 0 && n <= 100) {
		return errors.New("give a percentage from 0% to 100%, such as 25%")
	}
	*p = percent(n / 100)
	return nil
}

func (p *percent) String() string { return strconv.FormatFloat(float64(*p)*100, 'g', -1, 64) + "%" }

// addresses are ranges of addresses, one for each use of a flag.
type addresses []netip.Prefix

func (p *addresses) add(text string) error {
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		addr, addrErr := netip.ParseAddr(text)
		if addrErr != nil || addr.Zone() != "" {
			return errors.New("give a range of addresses, such as 10.1.2.0/24 or fd12::/48")
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	*p = append(*p, prefix.Masked())
	return nil
}

// A repeated is a flag.Value that takes one more value at each use.
type repeated func(text string) error

func (r repeated) Set(text string) error { return r(text) }

func (r repeated) String() string { return "" }

func isRepeated(v flag.Value) bool {
	_, ok := v.(repeated)
	return ok
}

// A list has texts, one for each use of a flag.
type list []string

func (l *list) add(text string) error {
	*l = append(*l, text)
	return nil
}
