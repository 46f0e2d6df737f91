// Package partition divides sets and journals into documents: the keys of a set into
// the pages of its Resource List or the packages of its Resource Dump, a journal into
// the windows of its Change Lists, and an archive into spans of time. It also writes
// and parses the names of the parts, which are segments of URLs.
//
// Package paging has the algorithms. This package remembers their results and decides when
// to run them again.
package partition

import (
	"encoding/base64"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// Whole is the range of all keys.
var Whole resourcesync.Range

// A Partition divides the keys of a set into ranges: pages or packages. It is
// immutable.
type Partition struct {
	// Number counts the partitions of a set: it differs between any two of them.
	Number uint64

	// Cuts end the ranges. There is at least one.
	Cuts []resourcesync.Cut

	// Groups end the documents that list the ranges, if one document is not enough.
	Groups []resourcesync.Cut

	// Version is the version of the set, read before the division. It is empty if
	// unknown.
	Version string

	// At is the time of the newest change of the set, zero if unknown.
	At time.Time

	// Splits has the times at which ranges were split off, for the splits that this
	// process has observed. It is nil for packages.
	Splits map[resourcesync.Range]time.Time

	found []resourcesync.Cut // without the learned ones
	done  time.Time
	took  time.Duration
}

// Range returns the range that Cuts[i] ends.
func (p *Partition) Range(i int) resourcesync.Range {
	r := resourcesync.Range{To: p.Cuts[i].Key}
	if i > 0 {
		r.From = p.Cuts[i-1].Key
	}
	return r
}

// Ranges yields all ranges in order.
func (p *Partition) Ranges() iter.Seq[resourcesync.Range] { return Ranges(p.Cuts, "") }

// HasCutsOf reports whether the divisions of p and o have the same boundaries.
func (p *Partition) HasCutsOf(o *Partition) bool {
	return slices.EqualFunc(p.found, o.found, func(a, b resourcesync.Cut) bool { return a.Key == b.Key })
}

// Has reports whether r is one of the ranges.
func (p *Partition) Has(r resourcesync.Range) bool { return Has(p.Cuts, r) }

// BeginningIn returns the ranges that begin in r, and the range that they cover
// together: r itself if there are none.
func (p *Partition) BeginningIn(r resourcesync.Range) (ranges iter.Seq[resourcesync.Range], covered resourcesync.Range) {
	first, end := 0, len(p.Cuts) // range i begins where range i-1 ends
	if r.From != "" {
		first, _ = search(p.Cuts, r.From)
		first++
	}
	if r.To != "" {
		end, _ = search(p.Cuts, r.To)
		end++
	}
	if end <= first {
		return func(func(resourcesync.Range) bool) {}, r
	}
	covered.To = p.Cuts[end-1].Key
	if first > 0 {
		covered.From = p.Cuts[first-1].Key
	}
	return Ranges(p.Cuts[first:end], covered.From), covered
}

// noteSplits records which ranges of p are parts of one of old.
func (p *Partition) noteSplits(old *Partition) {
	if old == nil {
		return
	}
	p.Splits = make(map[resourcesync.Range]time.Time)
	now := time.Now().UTC().Truncate(time.Microsecond)
	for r := range p.Ranges() {
		if old.Has(r) {
			if at, ok := old.Splits[r]; ok {
				p.Splits[r] = at
			}
			continue
		}
		i, found := search(old.Cuts, r.From)
		if found {
			i++
		}
		if end := old.Cuts[i].Key; end == "" || r.To != "" && r.To <= end {
			p.Splits[r] = now // otherwise ranges were joined
		}
	}
}

// Ranges yields the ranges that cuts end, the first of which begins at from.
func Ranges(cuts []resourcesync.Cut, from string) iter.Seq[resourcesync.Range] {
	return func(yield func(resourcesync.Range) bool) {
		for _, c := range cuts {
			if !yield(resourcesync.Range{From: from, To: c.Key}) {
				return
			}
			from = c.Key
		}
	}
}

// Has reports whether r is one of the ranges that cuts end.
func Has(cuts []resourcesync.Cut, r resourcesync.Range) bool {
	i, found := search(cuts, r.To)
	if r.To == "" {
		i, found = len(cuts)-1, true
	}
	from := ""
	if i > 0 {
		from = cuts[i-1].Key
	}
	return found && r.From == from
}

// Beginning returns the range of all keys that begin with prefix.
func Beginning(prefix string) resourcesync.Range {
	to := []byte(prefix)
	for len(to) > 0 && to[len(to)-1] == 0xff {
		to = to[:len(to)-1]
	}
	if len(to) > 0 {
		to[len(to)-1]++
	}
	return resourcesync.Range{From: prefix, To: string(to)}
}

// search finds the cut at key, or where it would be. The last cut has no key.
func search(cuts []resourcesync.Cut, key string) (int, bool) {
	return slices.BinarySearchFunc(cuts[:len(cuts)-1], key, func(c resourcesync.Cut, key string) int { return strings.Compare(c.Key, key) })
}

// The name of a range is its two ends in unpadded base64url, joined by '~'. The second
// end omits the bytes that it shares with the first, and begins with their number and a
// '.', because neighbouring ends have much in common. Even two keys of the greatest
// length that share nothing give a URL below 2,048 characters. A missing end is empty.

var base64url = base64.RawURLEncoding.Strict()

// FormatRange returns the name of r.
func FormatRange(r resourcesync.Range) string {
	var b strings.Builder
	b.WriteString(base64url.EncodeToString([]byte(r.From)))
	b.WriteByte('~')
	n := commonPrefix(r.From, r.To)
	if n > 0 {
		b.WriteString(strconv.Itoa(n))
		b.WriteByte('.')
	}
	b.WriteString(base64url.EncodeToString([]byte(r.To[n:])))
	return b.String()
}

// ParseRange is the inverse of [FormatRange]. It accepts no other spelling, so that a
// page has one URL.
func ParseRange(s string) (r resourcesync.Range, ok bool) {
	from, to, found := strings.Cut(s, "~")
	if !found || len(s) > 4*resourcesync.MaxKeyLength {
		return r, false
	}
	first, err := base64url.DecodeString(from)
	if err != nil {
		return r, false
	}
	shared := 0
	if digits, rest, found := strings.Cut(to, "."); found {
		if shared, err = strconv.Atoi(digits); err != nil || shared < 0 || shared > len(first) {
			return r, false
		}
		to = rest
	}
	second, err := base64url.DecodeString(to)
	if err != nil {
		return r, false
	}
	r = resourcesync.Range{From: string(first), To: string(first[:shared]) + string(second)}
	return r, (r.To == "" || r.From < r.To) && FormatRange(r) == s
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// timeLayout is the layout of times in names. All names have the same length, so that
// they sort by time: some Destinations read the parts of an index in the order of their
// URIs.
const timeLayout = "20060102T150405.000000000Z"

// FormatTime returns the name of an interval that begins at t. The end is not part of the
// name, because an open list keeps its URL when it is closed.
func FormatTime(t time.Time) string { return t.UTC().Format(timeLayout) }

// ParseTime is the inverse of [FormatTime].
func ParseTime(name string) (time.Time, error) { return time.Parse(timeLayout, name) }

// Find returns the index of the interval that begins at from.
func Find(intervals []resourcesync.Interval, from time.Time) (i int, found bool) {
	return slices.BinarySearchFunc(intervals, from, func(iv resourcesync.Interval, t time.Time) int { return iv.From.Compare(t) })
}
