package sitemap

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/resourcesync-go/resourcesync"
)

const (
	// sampleStep is the number of pages after which a sample is evaluated, and maxSample the
	// number after which it ends. A smaller set is requested as a whole.
	sampleStep = 20
	maxSample  = 1000

	// maxFailed is the number of failed requests after which a sample has failed.
	maxFailed = 20
)

// A sample is the number of pages, of some listed ones, that the website refuses to a stranger and
// not to the Site itself.
type sample struct{ of, refused int64 }

// sample requests random listed pages, as a stranger and as itself, until it is clear whether more
// of all count pages than allowed are refused.
func (s *Site) sample(ctx context.Context, allowed, count int64) (found sample, err error) {
	failed := 0
	for p, err := range s.randomPages(ctx, maxSample) {
		if err != nil {
			return found, err
		}
		refused, err := s.refusesStranger(ctx, &p)
		if err != nil { // it says nothing
			if failed++; failed == maxFailed || ctx.Err() != nil {
				return found, err
			}
			continue
		}
		found.of++
		if refused {
			found.refused++
		}
		if found.of%sampleStep == 0 && found.isClear(allowed, count) {
			break
		}
	}
	return found, nil
}

func (s *Site) refusesStranger(ctx context.Context, p *page) (bool, error) {
	stranger, err := s.request(ctx, p)
	if err != nil || stranger.reason == "" {
		return false, err
	}
	itself, err := s.request(context.WithValue(ctx, asItself{}, true), p)
	return err == nil && itself.reason == "", err
}

// isMany reports whether the sample says that more of all count pages than allowed are refused.
func (f sample) isMany(allowed, count int64) bool {
	return float64(f.refused)*float64(count) > float64(allowed)*float64(f.of)
}

// isClear reports whether isMany would return the same for all pages, with an error
// probability below 1 in 10,000: the interval of Wilson for the refused share does not
// include the allowed one.
func (f sample) isClear(allowed, count int64) bool {
	const z = 4 // standard deviations
	n, share, limit := float64(f.of), float64(f.refused)/float64(f.of), float64(allowed)/float64(count)
	middle := (share + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(share*(1-share)/n+z*z/(4*n*n))
	return middle-half > limit || middle+half < limit
}

// randomPages yields up to n listed pages, chosen at random. Of a large set that is a
// [resourcesync.PartStater], it reads only the parts that it chooses.
func (s *Site) randomPages(ctx context.Context, n int) iter.Seq2[page, error] {
	return func(yield func(page, error) bool) {
		ranges := []resourcesync.Range{{}}
		each := n // pages of each range
		if set, ok := s.set.(resourcesync.PartStater); ok {
			parts, err := set.StatParts(ctx, resourcesync.Range{})
			if err != nil {
				yield(page{}, err)
				return
			}
			if len(parts) > n {
				ranges, each = chooseParts(parts, n), 1
			}
		}
		for _, r := range ranges {
			chosen, err := s.choose(ctx, r, each)
			if err != nil {
				yield(page{}, err)
				return
			}
			for _, p := range chosen {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}

// chooseParts returns the ranges of n random parts.
func chooseParts(parts []resourcesync.Part, n int) []resourcesync.Range {
	ranges := make([]resourcesync.Range, n)
	for i, at := range rand.Perm(len(parts))[:n] {
		ranges[i].From = parts[at].From
		if at+1 < len(parts) {
			ranges[i].To = parts[at+1].From
		}
	}
	return ranges
}

// choose returns up to n random pages of a range, in random order.
func (s *Site) choose(ctx context.Context, r resourcesync.Range, n int) (chosen []page, err error) {
	seen := 0
	for r, err := range s.set.Resources(ctx, r) {
		if err != nil {
			return nil, err
		}
		u, ok := s.urlOf(r)
		if !ok {
			continue
		}
		at := rand.IntN(seen + 1)
		if seen++; len(chosen) < n {
			at = len(chosen)
			chosen = append(chosen, page{})
		}
		if at < n {
			chosen[at] = page{key: r.Key, uri: u, known: r.Clone()}
		}
	}
	rand.Shuffle(len(chosen), func(i, j int) { chosen[i], chosen[j] = chosen[j], chosen[i] })
	return chosen, nil
}
