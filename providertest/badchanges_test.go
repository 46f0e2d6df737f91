package providertest

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

func badChanges() []bad {
	// of makes a provider from a function that returns the journal.
	of := func(name, rules string, journal func([]resourcesync.Change) []resourcesync.Change) bad {
		return bad{name, rules, func(b *bent) {
			b.changes = func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
				all := each(b.full.Changes(ctx, resourcesync.Interval{}), func(y yield[resourcesync.Change]) yield[resourcesync.Change] {
					return func(c resourcesync.Change, err error) bool { return y(keep(c), err) }
				})
				return filtered(rewritten(ctx, all, journal), func(c resourcesync.Change) bool { return iv.Contains(c.Datetime) })
			}
			b.as = onlyChanger{b, b}
		}}
	}
	// every applies f to every change, and drops those for which it is false.
	every := func(f func(c *resourcesync.Change) bool) func([]resourcesync.Change) []resourcesync.Change {
		return func(all []resourcesync.Change) (out []resourcesync.Change) {
			for _, c := range all {
				if f(&c) {
					out = append(out, c)
				}
			}
			return out
		}
	}
	inInterval := func(name string, contains func(iv resourcesync.Interval, t time.Time) bool) bad {
		return bad{name: name, rules: "Changes/interval", bend: func(b *bent) {
			b.changes = func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
				return filtered(b.full.Changes(ctx, resourcesync.Interval{}), func(c resourcesync.Change) bool { return contains(iv, c.Datetime) })
			}
			b.as = onlyChanger{b, b}
		}}
	}
	since := func(name string, bend func(t time.Time, calls int) time.Time) bad {
		return bad{name: name, rules: "Since/steady", bend: func(b *bent) {
			calls := 0
			b.since = func(ctx context.Context) (time.Time, error) {
				calls++
				t, err := b.full.Since(ctx)
				return bend(t, calls), err
			}
			b.as = onlyChanger{b, b}
		}}
	}
	moves := of("forgets what has moved", "Changes/uri", func(all []resourcesync.Change) (out []resourcesync.Change) {
		for i, c := range all {
			moves := c.Type == resourcesync.Deleted && i+1 < len(all) &&
				all[i+1].Resource.Key == c.Resource.Key && all[i+1].Resource.URI != c.Resource.URI
			if !moves {
				out = append(out, c)
			}
		}
		return out
	})
	key := func(c *resourcesync.Change) *string { return &c.Resource.Key }
	return append(badMethods("Changes", key, func(b *bent, spoil func(start[resourcesync.Change]) start[resourcesync.Change]) {
		b.changes = func(ctx context.Context, iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
			return spoil(func(ctx context.Context) iter.Seq2[resourcesync.Change, error] { return b.full.Changes(ctx, iv) })(ctx)
		}
	}),
		of("newest first", "Changes/order", func(all []resourcesync.Change) []resourcesync.Change {
			slices.Reverse(all)
			return all
		}),
		of("no key", "Changes/valid", func(all []resourcesync.Change) []resourcesync.Change {
			first := all[0]
			first.Type, first.Resource.Key = resourcesync.Deleted, ""
			return append([]resourcesync.Change{first}, all...)
		}),
		of("no URI", "Changes/valid Changes/uri", every(func(c *resourcesync.Change) bool {
			if c.Type == resourcesync.Deleted {
				c.Resource.URI = ""
			}
			return true
		})),
		of("no type", "Changes/valid", every(func(c *resourcesync.Change) bool {
			if !ours(c.Resource.Key) {
				c.Type = ""
			}
			return true
		})),
		of("no datetime", "Changes/valid", func(all []resourcesync.Change) []resourcesync.Change {
			all[0].Datetime = time.Time{}
			return all
		}),
		inInterval("includes From", func(iv resourcesync.Interval, t time.Time) bool {
			return iv.Contains(t) || t.Equal(iv.From) && !iv.From.Equal(iv.Until)
		}),
		inInterval("excludes Until", func(iv resourcesync.Interval, t time.Time) bool { return iv.Contains(t) && !t.Equal(iv.Until) }),
		of("shows what was before", "Changes/newest", every(func(c *resourcesync.Change) bool {
			if !ours(c.Resource.Key) {
				c.Resource.Length = resourcesync.Bytes(1)
			}
			return true
		})),
		of("forgets deletions", "Changes/newest Changes/replay Changes/type Changes/uri", every(func(c *resourcesync.Change) bool {
			return c.Type != resourcesync.Deleted
		})),
		of("forgets updates", "Changes/replay Changes/type", every(func(c *resourcesync.Change) bool {
			return c.Type != resourcesync.Updated
		})),
		of("forgets one of two at once", "Changes/newest Changes/replay Changes/uri", func(all []resourcesync.Change) []resourcesync.Change {
			return slices.DeleteFunc(all, func(c resourcesync.Change) bool {
				return c.Resource.Key == "!providertest-001" && c.Type == resourcesync.Deleted
			})
		}),
		of("only updates", "Changes/type", every(func(c *resourcesync.Change) bool {
			if c.Type == resourcesync.Created {
				c.Type = resourcesync.Updated
			}
			return true
		})),
		of("forgets who shares a URI", "Changes/uri", func(all []resourcesync.Change) []resourcesync.Change {
			there := map[string]string{} // URIs, by key
			return slices.DeleteFunc(all, func(c resourcesync.Change) bool {
				again := c.Type == resourcesync.Created && there[c.Resource.Key] == c.Resource.URI
				if there[c.Resource.Key] = c.Resource.URI; c.Type == resourcesync.Deleted {
					delete(there, c.Resource.Key)
				}
				return again
			})
		}),
		moves,
		bad{name: "forgets what has moved, of URIs that nobody shares", rules: moves.rules, bend: func(b *bent) {
			uniqueURIs(b.full, b.opts)
			moves.bend(b)
		}},
		since("unknown", func(time.Time, int) time.Time { return time.Time{} }),
		since("goes back", func(t time.Time, calls int) time.Time { return t.Add(-time.Duration(calls)) }),
	)
}
