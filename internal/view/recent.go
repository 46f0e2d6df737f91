package view

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
)

// The timeline of a set counts at most timelineChanges of its newest changes, and goes
// back timelineDays.
const (
	timelineChanges = 5000
	timelineDays    = 30
	latestChanges   = 10
)

// recent returns the latest changes of st. It reads a bounded number of changes, and not
// again before the journal has changed and a pause is over. It is nil without a journal, or
// while the set is being prepared.
func (v *View) recent(ctx context.Context, st *document.Set) (*pages.Recent, error) {
	if st.Changer == nil {
		return nil, nil
	}
	if err := st.Ready(ctx); errors.Is(err, resourcesync.ErrNotReady) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	stat, err := document.StatOf(ctx, st.ChangeStater, partition.Whole)
	if err != nil {
		return nil, err
	}
	r := v.recents[st].Load()
	fresh := r != nil && (stat.Version != "" && stat.Version == r.version || time.Since(r.done) < partition.RestRatio*r.took)
	if !fresh || v.now.Sub(r.done) > time.Hour {
		if r, err = v.readRecent(ctx, st, stat); err != nil {
			return nil, err
		}
		v.recents[st].Store(r)
	}
	return &pages.Recent{
		Hours:   pages.NewTimeline(r.counts, time.Hour, 24, v.now, r.since),
		Days:    pages.NewTimeline(r.counts, 24*time.Hour, timelineDays, v.now, r.since),
		Changes: r.latest,
		All:     st.URL(document.KindRecentChanges+document.PageOf, ""),
		Live:    st.LiveURL(),
	}, nil
}

func (v *View) readRecent(ctx context.Context, st *document.Set, stat resourcesync.Stat) (*recent, error) {
	begin := time.Now()
	since, err := st.Changer.Since(ctx)
	if err != nil {
		return nil, err
	}
	first := v.now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -timelineDays)
	r := &recent{version: stat.Version, counts: pages.Counts{}, since: v.now}
	newest, err := newestChange(ctx, st, v.now)
	if err != nil {
		return nil, err
	}
	n := 0
	for span, err := range paging.Backwards(reader(ctx, st.Journal()), resourcesync.Interval{From: since}, newest) {
		if err != nil {
			return nil, err
		}
		for _, c := range slices.Backward(span.Changes) {
			if len(r.latest) == latestChanges {
				break
			}
			r.latest = append(r.latest, pages.NewChange(&c, v.site.Routes.Origin))
		}
		if n += len(span.Changes); n > timelineChanges || span.Partial {
			break
		}
		for i := range span.Changes {
			r.counts.Add(&span.Changes[i])
		}
		if r.since = span.Interval.From; r.since.Before(first) && len(r.latest) == latestChanges {
			break
		}
	}
	r.done, r.took = time.Now(), time.Since(begin)
	return r, nil
}
