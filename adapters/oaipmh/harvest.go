package oaipmh

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// identityAge is how long an answer to Identify is used.
const identityAge = day

// A harvest is one call of Fill.
type harvest struct {
	*Repository
	p      progress
	ready  bool // the set is open
	recent time.Time
	result resourcesync.ScanResult

	now   *list
	page  *page
	found []record // not yet applied
}

// Fill implements [scan.Filler]: it lists the records that have changed since the last
// harvest, or all records if a complete listing is due. The result has the sums of all listings.
//
// Fill returns after the end of the lists, which takes hours for the first listing of a
// large repository. If it fails, or if the process dies, the next call continues after the
// last response. While another Fill of this Repository runs, it returns
// [resourcesync.ErrScanning].
func (r *Repository) Fill(ctx context.Context) (resourcesync.ScanResult, error) {
	if r.set == nil {
		return resourcesync.ScanResult{}, errUnbound
	}
	if !r.running.TryLock() {
		return resourcesync.ScanResult{}, resourcesync.ErrScanning
	}
	defer r.running.Unlock()
	h := &harvest{Repository: r}
	err := h.run(ctx)
	return h.result, err
}

func (h *harvest) run(ctx context.Context) error {
	if err := h.load(ctx); err != nil {
		return err
	}
	if err := h.checkReady(ctx); err != nil {
		return err
	}
	if now := h.config(); h.p.Config != now {
		h.p = progress{Config: now, Generation: h.p.Generation + 1}
		h.p.Full = &list{}
	}
	if h.p.Full == nil && h.isFullDue() {
		h.p.Full = &list{}
		h.p.Identified = time.Time{}
	}
	if err := h.identify(ctx); err != nil {
		return err
	}
	if err := h.listRecent(ctx); err != nil {
		return err
	}
	if h.p.Full != nil {
		if err := h.listAll(ctx); err != nil {
			return err
		}
		// The listing may have an old version of a record that changed since it began.
		if err := h.listRecent(ctx); err != nil {
			return err
		}
	}
	return h.sweepHeld(ctx)
}

// checkReady finds out whether the set is open.
func (h *harvest) checkReady(ctx context.Context) error {
	_, err := h.set.Stat(ctx, resourcesync.Range{})
	h.ready = err == nil
	if errors.Is(err, resourcesync.ErrNotReady) {
		err = nil
	}
	return err
}

// isFullDue reports whether it is time for a complete listing.
func (h *harvest) isFullDue() bool {
	every := h.options.FullEvery
	if every == 0 {
		every = 7 * day
		if h.p.Identity.DeletedRecord == "persistent" && h.options.Set == "" {
			every = 28 * day
		}
	}
	return h.p.Since.IsZero() || every > 0 && time.Since(h.p.Compared) >= every
}

// identify requests the identity of the repository, unless it is known.
func (h *harvest) identify(ctx context.Context) error {
	if time.Since(h.p.Identified) < identityAge {
		return nil
	}
	res, err := h.get(ctx, h.request("verb", "Identify"), none)
	if err != nil {
		return err
	}
	if len(res.errors) > 0 {
		return h.refusal(ctx, res)
	}
	if h.p.Identity.Granularity != res.identity.Granularity {
		h.p.Dates = granularity{Stated: res.identity.Granularity}
	}
	h.p.Identity, h.p.Identified = res.identity, time.Now()
	return h.save(ctx)
}

// listRecent lists the changes since the last listing, once there has been one.
func (h *harvest) listRecent(ctx context.Context) error {
	if h.p.Since.IsZero() {
		return nil
	}
	h.hinted.Store(false)
	if h.p.Recent == nil {
		from := h.p.Since.Add(-max(h.options.Overlap, h.p.Dates.granule()))
		h.p.Recent = &list{From: from}
	}
	if err := h.list(ctx, h.p.Recent, nil); err != nil {
		return err
	}
	h.p.Since, h.p.Recent, h.recent = h.p.Recent.Started, nil, time.Now()
	return h.save(ctx)
}

// listAll lists all records, and then deletes the resources that are missing. Recent changes
// always come first.
func (h *harvest) listAll(ctx context.Context) error {
	full := h.p.Full
	err := h.list(ctx, full, func() error {
		if h.p.Since.IsZero() || !h.hinted.Load() && time.Since(h.recent) < h.options.Every {
			return nil
		}
		return h.listRecent(ctx)
	})
	if err != nil {
		return err
	}
	h.log.Info("all records listed", "records", full.Records, "unlisted", full.Unlisted)
	h.p.Generation++
	h.p.Compared = time.Now()
	if h.p.Since.IsZero() || full.Started.Before(h.p.Since) {
		h.p.Since = full.Started
	}
	h.report() // with the counts of the listing
	h.p.Full, h.p.Sweep, h.p.Verified = nil, true, false
	if err := h.save(ctx); err != nil {
		return err
	}
	return h.sweep(ctx)
}

// list reads all of l, and calls between after each response.
func (h *harvest) list(ctx context.Context, l *list, between func() error) error {
	for {
		h.now = l
		res, err := h.get(ctx, h.listURL(l), func() each {
			h.page, h.found = newPage(), h.found[:0]
			return func(rec record) error { return h.add(ctx, rec) }
		})
		if err == nil {
			err = h.flush(ctx)
		}
		if err != nil {
			return err
		}
		l.start(res)
		switch {
		case len(res.errors) == 0:
			err = l.advance(h.page, res)
		case res.has("noRecordsMatch"):
			l.Token = ""
		case res.has("badResumptionToken") && l.Token != "":
			err = h.expire(l)
		case res.has("badArgument") && l.Token == "" && !(l.From.IsZero() && l.Until.IsZero()) && h.p.Dates.refuse():
			// The repository does not understand the granularity that it states.
			h.log.Info("the repository refuses dates of its granularity; trying the other one", "stated", h.p.Dates.Stated)
		default:
			return h.refusal(ctx, res)
		}
		h.checkSpan(l)
		ended := err == nil && len(res.errors) == 0 && l.Token == "" || res.has("noRecordsMatch")
		if ended && !l.next(time.Now()) {
			return nil
		}
		if failed := h.save(ctx); failed != nil || err != nil {
			return errors.Join(failed, wrap(err))
		}
		if between != nil {
			if err := between(); err != nil {
				return err
			}
		}
	}
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("oaipmh: %w", err)
}

// start records when the listing began, by the clock of the repository, or by ours if that
// is earlier.
func (l *list) start(res *response) {
	if !l.Started.IsZero() {
		return
	}
	l.Started = time.Now()
	if at, onlyDay, ok := parseDatestamp(res.date); ok && !onlyDay && at.Before(l.Started) {
		l.Started = at
	}
}

// listURL returns the request for the next response of l.
func (h *harvest) listURL(l *list) string {
	verb := "ListRecords"
	if h.template != nil {
		verb = "ListIdentifiers"
	}
	if l.Token != "" {
		return h.request("verb", verb, "resumptionToken", l.Token)
	}
	var from, until string
	if !l.From.IsZero() {
		from = h.p.Dates.format(l.From)
	}
	if !l.Until.IsZero() {
		until = h.p.Dates.format(l.Until)
	}
	return h.request("verb", verb, "metadataPrefix", h.options.MetadataPrefix, "set", h.options.Set, "from", from, "until", until)
}

// expire continues l after its token has been refused.
func (h *harvest) expire(l *list) error {
	first, _, ok := parseDatestamp(h.p.Identity.Earliest)
	if !ok {
		first = time.Date(earliestYear, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	h.log.Info("resumption token expired; listing again", "from", l.From, "until", l.Until, "pages", l.Pages)
	return l.expire(first, time.Now(), h.p.Dates.granule(), h.p.NoUntil)
}

// checkSpan notices that the repository ignores from or until. If it ignores until, its list
// has everything after from, and is the last one.
func (h *harvest) checkSpan(l *list) {
	if h.page.before {
		h.warn("the repository ignores from: each harvest receives all records", "from", l.From)
	}
	if h.page.beyond {
		h.warn("the repository ignores until", "until", l.Until)
		h.p.NoUntil, l.Until, l.Span = true, time.Time{}, 0
	}
}
