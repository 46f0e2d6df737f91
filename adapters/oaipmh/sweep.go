package oaipmh

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

const (
	// trusted is the number of missing records that are requested alone. If all of them
	// are gone, so are the others. Otherwise further ones are requested, up to
	// maxVerified; the rest stays listed until the next complete listing.
	trusted     = 500
	maxVerified = 10_000

	// maxFailures is the number of failures in a row after which verification fails.
	maxFailures = 5
)

// sweep deletes the resources that the last complete listing did not have, under the guard of
// the set, and opens the set after its first listing.
func (h *harvest) sweep(ctx context.Context) error {
	if !h.ready {
		// The records put so far are the baseline.
		keep := &resourcesync.UnreadableError{Err: errors.New("harvested before")}
		_, err := h.set.Scan(ctx, func(yield func(resourcesync.Resource, error) bool) { yield(resourcesync.Resource{}, keep) })
		if err != nil {
			return err
		}
		h.ready = true
	}
	if !h.p.Verified {
		if err := h.verify(ctx); err != nil {
			return err
		}
		h.p.Verified = true
		if err := h.save(ctx); err != nil {
			return err
		}
	}
	if err := h.scan(ctx); err != nil {
		return err
	}
	h.p.Sweep = false
	return h.save(ctx)
}

// scan compares the set with the stamps of its own resources.
func (h *harvest) scan(ctx context.Context) error {
	result, err := h.set.Scan(ctx, h.present(ctx))
	result.Unchanged = 0 // they have been counted
	h.count(result)
	return err
}

// present yields the resources that have been listed.
func (h *harvest) present(ctx context.Context) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for r, err := range h.set.Resources(ctx, resourcesync.Range{}) {
			if err == nil && !h.p.isPresent(r.Stamp) {
				continue
			}
			if err == nil {
				r, err = resourcesync.Resource{Key: r.Key}, resourcesync.ErrUnchanged
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// sweepHeld completes an earlier sweep, and repeats it while deletions are held: the guard
// releases them with a scan.
func (h *harvest) sweepHeld(ctx context.Context) error {
	if h.p.Sweep {
		return h.sweep(ctx)
	}
	kept, err := h.set.Kept(ctx)
	if err != nil || kept.Held == 0 && kept.Unreadable == 0 {
		return err
	}
	return h.scan(ctx)
}

// verify requests the missing records alone. It marks those that are gone, and those that
// the repository still has as listed.
func (h *harvest) verify(ctx context.Context) error {
	requested, kept, failures, after := 0, 0, 0, ""
	for {
		missing, err := h.missing(ctx, after)
		if err != nil || len(missing) == 0 {
			return err
		}
		for _, key := range missing {
			after = key
			here := requested >= maxVerified
			if !here {
				requested++
				if here, err = h.isHere(ctx, key); err == nil {
					failures = 0
				} else if failures++; ctx.Err() != nil || failures == maxFailures {
					return err
				} else {
					here = true
					h.log.Warn("missing record cannot be requested; it stays listed", "identifier", key, "error", err)
				}
			}
			if here {
				kept++
			}
			if err := h.mark(ctx, key, here); err != nil {
				return err
			}
		}
		if kept > 0 {
			h.log.Info("the repository still has records that its list lacked", "requested", requested, "kept", kept)
		} else if requested >= trusted {
			return nil
		}
	}
}

// missing returns some keys after a key, of resources that have not been listed.
func (h *harvest) missing(ctx context.Context, after string) (keys []string, err error) {
	r := resourcesync.Range{}
	if after != "" {
		r.From = after + "\x00"
	}
	for r, err := range h.set.Resources(ctx, r) {
		if err != nil {
			return nil, err
		}
		if r.Stamp != gone && !h.p.isPresent(r.Stamp) {
			keys = append(keys, strings.Clone(r.Key))
		}
		if len(keys) == trusted {
			break
		}
	}
	return keys, nil
}

// isHere reports whether the repository has a record, in the set that is harvested.
func (h *harvest) isHere(ctx context.Context, identifier string) (bool, error) {
	var found *record
	res, err := h.get(ctx, h.recordURL(identifier), func() each {
		return func(rec record) error { found = &rec; return nil }
	})
	switch {
	case err != nil:
		return false, err
	case len(res.errors) > 0 && !res.has("idDoesNotExist") && !res.has("cannotDisseminateFormat") && !res.has("noRecordsMatch"):
		return false, h.refusal(ctx, res)
	case found == nil || found.deleted || found.identifier != identifier:
		return false, nil
	}
	if set := h.options.Set; set != "" && !slices.ContainsFunc(found.sets, func(s string) bool { return s == set || strings.HasPrefix(s, set+":") }) {
		return false, nil
	}
	_, ok := h.resource(found, "")
	return ok, nil
}

// mark marks a resource as listed or as gone.
func (h *harvest) mark(ctx context.Context, key string, here bool) error {
	known, err := h.listed(ctx, []string{key})
	if err != nil || len(known) == 0 {
		return err
	}
	if known[0].Stamp = gone; here {
		known[0].Stamp = h.p.stamp()
	}
	return h.set.Put(ctx, known[0])
}
