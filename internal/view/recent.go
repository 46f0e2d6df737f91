package view

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/entries"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// The timeline of a set counts at most timelineChanges of its newest changes, and goes
// back timelineDays.
const (
	timelineChanges = 5000
	timelineDays    = 30
	latestChanges   = 10
	liveSets        = 3
)

// addRecent adds the latest changes of sets to p, unless none of them has a journal and is ready.
// Of sets whose journal cannot be read, it calls failed with the error. More than liveSets have no
// live changes: each takes a connection of the browser.
func (v *View) addRecent(ctx context.Context, p *content, sets []*document.Set, failed func(*document.Set, error)) {
	var all []*recent
	out := &pages.Recent{Changes: webpage.Table{Label: "Latest changes", Columns: changes.head()[:3], Empty: "No change yet."}}
	for _, st := range sets {
		r, err := v.recentOf(ctx, st)
		if err != nil {
			failed(st, err)
		}
		if r == nil {
			continue
		}
		all = append(all, r)
		p.Live = append(p.Live, live(st)...)
		out.All = append(out.All, webpage.Link{Text: display(st), URL: st.URL(document.KindRecentChanges+document.PageOf, "")})
	}
	if len(all) == 0 {
		return
	}
	r := joined(all)
	if len(p.Live) > liveSets {
		p.Live = nil
	} else if len(p.Live) > 0 {
		out.Changes.Live = 20
	}
	if !r.begins.IsZero() {
		out.Changes.Empty = "No change since " + timetext.Of(r.begins) + "."
	}
	out.Hours = pages.NewTimeline(r.counts, time.Hour, 24, v.now, r.since)
	out.Days = pages.NewTimeline(r.counts, 24*time.Hour, timelineDays, v.now, r.since)
	out.Changes.Rows, p.Recent = r.latest, out
}

// live returns the WebSocket with the changes of st, if it has one.
func live(st *document.Set) []string {
	if uri := st.LiveURL(); uri != "" {
		return []string{uri}
	}
	return nil
}

// joined returns what several sets have together.
func joined(all []*recent) *recent {
	if len(all) == 1 {
		return all[0]
	}
	out := &recent{counts: pages.Counts{}, since: all[0].since}
	for _, r := range all { // journals that were counted from their beginning lack nothing
		if r.since.Before(out.since) {
			out.since = r.since
		}
	}
	for _, r := range all {
		out.counts.Join(r.counts)
		out.latest = append(out.latest, r.latest...)
		if r.since.After(r.begins) && r.since.After(out.since) {
			out.since = r.since
		}
		if r.begins.After(out.begins) {
			out.begins = r.begins
		}
	}
	slices.SortStableFunc(out.latest, func(a, b []webpage.Cell) int { return b[0].At.Compare(a[0].At) })
	out.latest = out.latest[:min(len(out.latest), latestChanges)]
	return out
}

// recentOf returns the latest changes of st. It reads a bounded number of changes, and not
// again before the journal has changed and a pause is over. It is nil without a journal, or
// while the set is being prepared.
func (v *View) recentOf(ctx context.Context, st *document.Set) (*recent, error) {
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
	return r, nil
}

func (v *View) readRecent(ctx context.Context, st *document.Set, stat resourcesync.Stat) (*recent, error) {
	begin := time.Now()
	since, err := st.Changer.Since(ctx)
	if err != nil {
		return nil, err
	}
	first := v.now.UTC().Truncate(24*time.Hour).AddDate(0, 0, -timelineDays)
	r := &recent{version: stat.Version, counts: pages.Counts{}, since: v.now}
	if since.Unix() > 0 {
		r.begins = since
	}
	n, builder := 0, entries.Builder{}
	for span, err := range document.Backwards(ctx, st.Journal(), resourcesync.Interval{From: since}, stat.LastModified) {
		if err != nil {
			return nil, err
		}
		for _, c := range slices.Backward(span.Changes) {
			if len(r.latest) == latestChanges {
				break
			}
			row, _ := changes.row(entry{v, builder.Change(&c), 0})
			r.latest = append(r.latest, row[:3])
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
