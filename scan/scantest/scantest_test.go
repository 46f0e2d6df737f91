package scantest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/scan"
)

type listing = iter.Seq2[resourcesync.Resource, error]

// A place has versions of resources by key.
type place struct {
	versions map[string]string
	lost     error
}

// An origin lists a place. The functions bend it.
type origin struct {
	*place
	set  scan.Stored
	bend func(ctx context.Context, l listing) listing
	part func(ctx context.Context, ranges []resourcesync.Range, l listing) ([]resourcesync.Range, listing)
}

func (o *origin) Bind(_ context.Context, set scan.Stored, _ func(context.Context, string) (scan.Stored, error)) error {
	o.set = set
	return nil
}

func (o *origin) Resources(ctx context.Context) listing {
	return o.bend(ctx, o.list(ctx, func(string) bool { return true }))
}

func (o *origin) Part(ctx context.Context, paths []string) ([]resourcesync.Range, listing) {
	var ranges []resourcesync.Range
	for _, path := range paths {
		ranges = append(ranges, resourcesync.Range{From: path, To: path + "\x00"})
	}
	return o.part(ctx, ranges, o.list(ctx, func(key string) bool { return slices.Contains(paths, key) }))
}

func (o *origin) list(ctx context.Context, in func(key string) bool) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(o.versions)) {
			r := resource(key, o.versions[key])
			var unchanged error
			if o.set != nil {
				if known, err := o.set.Known(ctx, []string{key}); err == nil && known[0].Stamp == r.Stamp {
					r, unchanged = resourcesync.Resource{Key: key}, resourcesync.ErrUnchanged
				}
			}
			if ctx.Err() != nil || o.lost != nil {
				break
			}
			if in(key) && !yield(r, unchanged) {
				return
			}
		}
		if err := errors.Join(ctx.Err(), o.lost); err != nil {
			yield(resourcesync.Resource{}, err)
		}
	}
}

func resource(key, version string) resourcesync.Resource {
	return resourcesync.Resource{Key: key, URI: "https://example.org/" + key, Type: "text/" + version, Stamp: version}
}

// newCase returns a case of five resources, for origins that are bent in some way.
func newCase(bend func(context.Context, *origin, listing) listing, part func(context.Context, []resourcesync.Range, listing) ([]resourcesync.Range, listing)) Case {
	p := &place{versions: map[string]string{}}
	for i := range 5 {
		p.versions[fmt.Sprint(i)] = "one"
	}
	return Case{
		Open: func(testing.TB) scan.Origin {
			o := &origin{place: p, part: part}
			o.bend = func(ctx context.Context, l listing) listing { return bend(ctx, o, l) }
			return o
		},
		Change: func(testing.TB) []string {
			p.versions["0"], p.versions["5"] = "two", "one"
			delete(p.versions, "1")
			return []string{"0", "1", "5"}
		},
		Break: func(testing.TB) { p.lost = errors.New("the place is lost") },
	}
}

func straight(_ context.Context, _ *origin, l listing) listing { return l }

func wholePart(_ context.Context, ranges []resourcesync.Range, l listing) ([]resourcesync.Range, listing) {
	return ranges, l
}

func TestStraight(t *testing.T) {
	Test(t, func(testing.TB) Case { return newCase(straight, wholePart) })
}

// TestUnreadable: a place may also be reported as unreadable in parts.
func TestUnreadable(t *testing.T) {
	Test(t, func(testing.TB) Case {
		return newCase(func(_ context.Context, o *origin, l listing) listing { return hide(o, l) }, wholePart)
	})
}

// hide reports a lost place as one unreadable part.
func hide(o *origin, l listing) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		if o.lost != nil {
			yield(resourcesync.Resource{}, &resourcesync.UnreadableError{Err: o.lost})
			return
		}
		l(yield)
	}
}

// after yields one more value after those of a listing that has not been interrupted.
func after(l listing, r resourcesync.Resource, err error) listing {
	return func(yield func(resourcesync.Resource, error) bool) {
		for r, err := range l {
			if !yield(r, err) || errors.Is(err, context.Canceled) {
				return
			}
		}
		yield(r, err)
	}
}

// TestBent: each origin breaks the rules that are named.
func TestBent(t *testing.T) {
	defer func(d time.Duration) { wait = d }(wait)
	wait = 100 * time.Millisecond
	always := func(bend func(l listing) listing) func(context.Context, *origin, listing) listing {
		return func(_ context.Context, _ *origin, l listing) listing { return bend(l) }
	}
	for _, tt := range []struct {
		name  string
		bend  func(context.Context, *origin, listing) listing
		part  func(context.Context, []resourcesync.Range, listing) ([]resourcesync.Range, listing)
		rules string // that are broken
	}{
		{"lists a resource twice", always(func(l listing) listing { return after(l, resource("0", "one"), nil) }), nil, "Resources Resources/broken Scan Part"},
		{"lists one without a key", always(func(l listing) listing { return after(l, resource("", "one"), nil) }), nil, "Resources Resources/broken Scan Part"},
		{"goes on after an error", always(func(l listing) listing {
			return after(after(l, resourcesync.Resource{}, errors.New("lost")), resource("9", "one"), nil)
		}), nil, "Resources Resources/broken Scan Part"},
		{"yields a resource with an error", always(func(l listing) listing { return after(l, resource("9", "one"), errors.New("lost")) }), nil, "Resources Resources/broken Scan Part"},
		{"takes for unchanged what no set has", func(_ context.Context, o *origin, l listing) listing {
			if o.set != nil {
				return l
			}
			return after(l, resourcesync.Resource{Key: "9"}, resourcesync.ErrUnchanged)
		}, nil, "Resources Resources/broken Scan Part"},
		{"lists only once", func(_ context.Context, _ *origin, l listing) listing {
			listed := false
			return func(yield func(resourcesync.Resource, error) bool) {
				if !listed {
					listed = true
					l(yield)
				}
			}
		}, nil, "Resources"},
		{"does not stop", always(func(l listing) listing {
			return func(yield func(resourcesync.Resource, error) bool) {
				stopped := false
				for r, err := range l {
					stopped = !yield(r, err) || stopped
				}
			}
		}), nil, "Resources/stop"},
		{"leaves a goroutine", always(func(l listing) listing {
			return func(yield func(resourcesync.Resource, error) bool) {
				go func() { <-t.Context().Done() }()
				l(yield)
			}
		}), nil, "Resources/stop Resources/cancel"},
		{"ignores ctx", func(_ context.Context, o *origin, _ listing) listing {
			return o.list(context.Background(), func(string) bool { return true })
		}, nil, "Resources/cancel"},
		{"hides the error of ctx", func(ctx context.Context, _ *origin, l listing) listing {
			return func(yield func(resourcesync.Resource, error) bool) {
				for r, err := range l {
					if err != nil && ctx.Err() != nil {
						err = errors.New("lost")
					}
					if !yield(r, err) {
						return
					}
				}
			}
		}, nil, "Resources/cancel"},
		{"takes what is lost for empty", func(_ context.Context, o *origin, l listing) listing {
			if o.lost != nil {
				return func(func(resourcesync.Resource, error) bool) {}
			}
			return l
		}, nil, "Resources/broken"},
		{"takes a new version for unchanged", func(_ context.Context, o *origin, l listing) listing {
			return func(yield func(resourcesync.Resource, error) bool) {
				for r, err := range l {
					if o.set != nil && r.Stamp == "two" {
						r, err = resourcesync.Resource{Key: r.Key}, resourcesync.ErrUnchanged
					}
					if !yield(r, err) {
						return
					}
				}
			}
		}, nil, "Scan"},
		{"forgets a deletion in a part", nil, func(_ context.Context, ranges []resourcesync.Range, l listing) ([]resourcesync.Range, listing) {
			return slices.Delete(ranges, 1, 2), l
		}, "Part"},
		{"lists more than the part", nil, func(_ context.Context, ranges []resourcesync.Range, l listing) ([]resourcesync.Range, listing) {
			return ranges, after(l, resource("9", "one"), nil)
		}, "Part"},
		{"takes a lost part for empty", nil, func(_ context.Context, ranges []resourcesync.Range, l listing) ([]resourcesync.Range, listing) {
			return ranges, func(yield func(resourcesync.Resource, error) bool) {
				for r, err := range l {
					if err != nil && err != resourcesync.ErrUnchanged || !yield(r, err) {
						return
					}
				}
			}
		}, "Part"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var broken []string
			for _, r := range rules {
				bend, part := tt.bend, tt.part
				if bend == nil {
					bend = straight
				}
				if part == nil {
					part = wholePart
				}
				c := newCase(bend, part)
				if err := r.check(t.Context(), t, &c, c.Open(t)); err != nil && err != errSkip {
					broken = append(broken, r.name)
					t.Log(r.name, err)
				}
			}
			if got := strings.Join(broken, " "); got != tt.rules {
				t.Errorf("broken: %s, want %s", got, tt.rules)
			}
		})
	}
}
