package webpage

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Count returns n, which is not negative, with separators: 1,234,567.
func Count(n int64) string { return grouped(strconv.FormatInt(n, 10)) }

func grouped(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes returns a number of bytes with a decimal unit: 999 B, 1.2 MB.
func Bytes(n int64) string {
	const units = "kMGTPE"
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	exp := min(int(math.Log10(float64(n))/3), len(units))
	v := float64(n) / math.Pow(1000, float64(exp))
	if v >= 999.5 && exp < len(units) {
		v, exp = v/1000, exp+1
	}
	format := "%.1f %cB"
	if v >= 99.95 {
		format = "%.0f %cB"
	}
	return fmt.Sprintf(format, v, units[exp-1])
}

// Datetime returns t as the attribute of a <time> element.
func Datetime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// age returns a duration as words that end in "ago".
func age(d time.Duration, unknown bool) string {
	days := int(d.Hours() / 24)
	switch {
	case unknown:
		return ""
	case d < 0:
		return "in the future"
	case d < 2*time.Second:
		return "just now"
	case d < time.Minute:
		return plural(int(d.Seconds()), "second")
	case d < time.Hour:
		return plural(int(d.Minutes()), "minute")
	case d < 24*time.Hour:
		return plural(int(d.Hours()), "hour")
	case days < 60:
		return plural(days, "day")
	case days < 730:
		return plural(days/30, "month")
	}
	return plural(days/365, "year")
}

func plural(n int, unit string) string {
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit + " ago"
}
