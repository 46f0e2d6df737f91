package oaipmh

import (
	"context"
	"fmt"
	"iter"

	"github.com/resourcesync-go/resourcesync"
)

// batch is the number of records that are stored together.
const batch = 500

// add takes a record of a response.
func (h *harvest) add(ctx context.Context, rec record) error {
	h.page.add(&rec)
	if at, onlyDay, ok := parseDatestamp(rec.datestamp); ok {
		h.p.Dates.observe(at, onlyDay)
		h.page.before = h.page.before || !h.now.From.IsZero() && at.Before(h.now.From.Add(-2*day))
		h.page.beyond = h.page.beyond || !h.now.Until.IsZero() && at.After(h.now.Until.Add(2*day))
	}
	if h.found = append(h.found, rec); len(h.found) < batch {
		return nil
	}
	return h.flush(ctx)
}

// flush applies the records that have been found. It may apply a record again.
func (h *harvest) flush(ctx context.Context) error {
	records := newest(h.found)
	h.found = h.found[:0]
	stamp := h.p.stamp()
	var live []resourcesync.Resource
	var missing []string
	for i := range records {
		rec := &records[i]
		if len(rec.identifier) == 0 || len(rec.identifier) > resourcesync.MaxKeyLength {
			h.now.Unlisted++
			continue
		}
		if rec.deleted {
			missing = append(missing, rec.identifier)
			continue
		}
		r, ok := h.resource(rec, stamp)
		if !ok {
			h.now.Unlisted++
			h.log.Debug("record has no usable URI", "identifier", rec.identifier, "uri", r.URI)
			missing = append(missing, rec.identifier)
			continue
		}
		live = append(live, r)
		h.now.Bytes += int64(len(r.Key)+len(r.URI)) + recordBytes
	}
	if h.now.Bytes > h.options.MaxState {
		return fmt.Errorf("oaipmh: the repository lists more than the limit of %d bytes for the state: raise it (--max-state), or choose a set of the repository", h.options.MaxState)
	}
	if !h.ready {
		if err := h.set.Put(ctx, live...); err != nil {
			return err
		}
		h.result.Created += len(live)
		return h.set.Delete(ctx, missing...)
	}
	return h.replace(ctx, live, missing)
}

// newest returns records without repetitions: of each identifier the one with the latest
// datestamp, or the last one of these.
func newest(records []record) []record {
	at := make(map[string]int, len(records))
	var out []record
	for _, rec := range records {
		i, again := at[rec.identifier]
		if !again {
			at[rec.identifier] = len(out)
			out = append(out, rec)
			continue
		}
		old, _, _ := parseDatestamp(out[i].datestamp)
		if now, _, _ := parseDatestamp(rec.datestamp); !now.Before(old) {
			out[i] = rec
		}
	}
	return out
}

// replace puts the live resources, and deletes the missing ones under the guard.
func (h *harvest) replace(ctx context.Context, live []resourcesync.Resource, missing []string) error {
	listed, err := h.listed(ctx, missing)
	if err != nil {
		return err
	}
	ranges := make([]resourcesync.Range, 0, len(live)+len(listed))
	for _, r := range live {
		ranges = append(ranges, only(r.Key))
	}
	for _, r := range listed {
		ranges = append(ranges, only(r.Key))
	}
	result, err := h.set.ScanRanges(ctx, ranges, sequence(live))
	if err != nil {
		return err
	}
	h.count(result)
	if result.Held == 0 {
		return nil
	}
	// The stamps keep what sweeps must delete.
	if listed, err = h.listed(ctx, missing); err != nil {
		return err
	}
	for i := range listed {
		listed[i].Stamp = gone
	}
	return h.set.Put(ctx, listed...)
}

// listed returns the resources among keys that are in the set.
func (h *harvest) listed(ctx context.Context, keys []string) ([]resourcesync.Resource, error) {
	known, err := h.set.Known(ctx, keys)
	if err != nil {
		return nil, err
	}
	var out []resourcesync.Resource
	for i, r := range known {
		if r.URI != "" {
			r = r.Clone()
			r.Key = keys[i]
			out = append(out, r)
		}
	}
	return out, nil
}

// only returns the range with a single key.
func only(key string) resourcesync.Range { return resourcesync.Range{From: key, To: key + "\x00"} }

func sequence(resources []resourcesync.Resource) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		for _, r := range resources {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// count adds the result of a scan to the result of the harvest.
func (h *harvest) count(r resourcesync.ScanResult) {
	h.result.Created += r.Created
	h.result.Updated += r.Updated
	h.result.Deleted += r.Deleted
	h.result.Unchanged += r.Unchanged
	h.result.Held, h.result.HeldSince = r.Held, r.HeldSince
}
