// Package checked reads providers, journals and archives, and checks that they
// keep their contracts. All code that lists resources or changes uses its iterators, so
// every document detects a faulty host in the same way.
package checked

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Error returns err with a prefix that names the part of a host that failed. The result
// wraps err only if err is [resourcesync.ErrNotReady]: an fs.ErrNotExist about one file
// must not turn into a 404 for the document that lists it.
func Error(who string, err error) error {
	if errors.Is(err, resourcesync.ErrNotReady) {
		return err
	}
	return fmt.Errorf("%s: %v", who, err)
}

// Resources yields the resources of p in r, in the order of their keys. It yields an
// error, as the last element, if p fails, ends early or breaks its contract, or when
// ctx ends. Resources whose URIs cannot be written into a document are passed to omit
// instead, unless it is nil.
func Resources(ctx context.Context, p resourcesync.Provider, r resourcesync.Range, omit func(key, uri string, reason error)) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		last, first := "", true
		for res, err := range p.Resources(ctx, r) {
			switch {
			case err != nil:
				err = Error("provider", err)
			case !first && res.Key <= last || !r.Contains(res.Key):
				err = fmt.Errorf("provider broke its contract: key %q after %q, in response to a request for keys from %q to %q", res.Key, last, r.From, r.To)
			}
			if err != nil {
				yield(resourcesync.Resource{}, err)
				return
			}
			first, last = false, res.Key
			if err := rsxml.CheckURI(res.URI); err != nil {
				if omit != nil {
					omit(res.Key, res.URI, err)
				}
				continue
			}
			if !yield(res, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(resourcesync.Resource{}, err) // the provider may have ended early without an error
		}
	}
}

// Parts returns the parts of r, or an error if p fails or breaks its contract.
func Parts(ctx context.Context, p resourcesync.PartStater, r resourcesync.Range) ([]resourcesync.Part, error) {
	parts, err := p.StatParts(ctx, r)
	if err != nil {
		return nil, Error("provider", err)
	}
	for i, part := range parts {
		if i == 0 && part.From != r.From || i > 0 && (part.From <= parts[i-1].From || !r.Contains(part.From)) {
			return nil, fmt.Errorf("provider broke its contract: part %d of the keys from %q to %q begins at %q", i, r.From, r.To, part.From)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("provider broke its contract: no parts of the keys from %q to %q", r.From, r.To)
	}
	return parts, nil
}

// Changes yields the changes of the journal c in iv, in forward chronological order.
// It yields an error, as the last element, if c fails, ends early or breaks its
// contract, or when ctx ends. Changes whose URIs cannot be written into a document are
// passed to omit instead, unless it is nil.
//
// If iv begins at the Since of a journal that is not a [resourcesync.Windower], changes
// at exactly that time are included: a host may return the datetime of its oldest
// change, which must not be lost.
func Changes(ctx context.Context, c resourcesync.Changer, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		asked, first := iv, time.Time{}
		if _, ok := c.(resourcesync.Windower); !ok && !iv.From.IsZero() {
			since, err := c.Since(ctx)
			if err != nil {
				yield(resourcesync.Change{}, Error("journal", err))
				return
			}
			if iv.From.Equal(since) {
				first, asked.From = since, since.Add(-time.Microsecond)
			}
		}
		changes(ctx, "journal", c.Changes(ctx, asked), asked, first, omit)(yield)
	}
}

// ArchivedChanges is like [Changes], for the archive of a journal.
func ArchivedChanges(ctx context.Context, a resourcesync.ChangeArchiver, iv resourcesync.Interval, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return changes(ctx, "archive", a.ArchivedChanges(ctx, iv), iv, time.Time{}, omit)
}

// changes yields the changes of seq from first on. All of seq must be in asked.
func changes(ctx context.Context, who string, seq iter.Seq2[resourcesync.Change, error], asked resourcesync.Interval, first time.Time, omit func(*resourcesync.Change, error)) iter.Seq2[resourcesync.Change, error] {
	return func(yield func(resourcesync.Change, error) bool) {
		var last time.Time
		for c, err := range seq {
			if err != nil {
				err = Error(who, err)
			} else if err = checkChange(&c, asked, last); err != nil {
				err = fmt.Errorf("%s broke its contract: %w", who, err)
			}
			if err != nil {
				yield(resourcesync.Change{}, err)
				return
			}
			if c.Datetime.Before(first) {
				continue
			}
			last = c.Datetime
			if err := rsxml.CheckURI(c.Resource.URI); err != nil {
				if omit != nil {
					omitted := c // c itself does not escape
					omit(&omitted, err)
				}
				continue
			}
			if !yield(c, nil) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(resourcesync.Change{}, err)
		}
	}
}

func checkChange(c *resourcesync.Change, asked resourcesync.Interval, last time.Time) error {
	switch {
	case c.Type != resourcesync.Created && c.Type != resourcesync.Updated && c.Type != resourcesync.Deleted || c.Datetime.IsZero():
		return fmt.Errorf("an invalid change: key %q, type %q, datetime %v", c.Resource.Key, c.Type, c.Datetime)
	case !asked.Contains(c.Datetime):
		return fmt.Errorf("a change at %v, in response to a request for changes after %v, up to %v", c.Datetime, asked.From, asked.Until)
	case c.Datetime.Before(last):
		return fmt.Errorf("a change at %v after one at %v: changes must be in chronological order", c.Datetime, last)
	}
	return nil
}
