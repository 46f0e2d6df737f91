package view

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/packages"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// pageChangeList is the page of changelist.xml: of the windows, the newest first, if the list
// is an index, otherwise of the changes.
func pageChangeList(ctx context.Context, v *View) (content, error) {
	windows, err := v.t.Set.Windows.Get(ctx)
	if err != nil {
		return content{}, err
	}
	if len(windows) == 1 {
		return v.changes(ctx, v.t.Set.Journal(), windows[0], "Change List")
	}
	out, err := v.intervals("Change List Index", document.KindChangeWindow, windows, func(iv resourcesync.Interval) string { return partition.FormatTime(iv.From) })
	if data, ok := out.data.(pages.List); ok {
		data.Links = []webpage.Link{{Text: "The newest changes in one list", URL: v.page(document.KindRecentChanges, "")}}
		out.data = data
	}
	return out, err
}

// pageRecentChanges is the page of changelist/recent.xml. It also leads to earlier changes.
func pageRecentChanges(ctx context.Context, v *View) (content, error) {
	since, err := v.t.Set.Changer.Since(ctx)
	if err != nil {
		return content{}, err
	}
	return v.changes(ctx, v.t.Set.Journal(), resourcesync.Interval{From: since}, "Recent changes")
}

// pageChangeWindow is the page of a Change List of an index, or of one in the archive.
func pageChangeWindow(ctx context.Context, v *View) (content, error) {
	windows, err := v.t.Set.Windows.Get(ctx)
	if err != nil {
		return content{}, err
	}
	iv, err := v.t.Window(windows)
	if err == nil {
		return v.changes(ctx, v.t.Set.Journal(), iv, "Change List")
	}
	a := v.t.Set.ChangeArchiver
	gone := &document.Gone{Index: v.page(document.KindChangeList, ""), Reason: "the journal no longer has this window"}
	if !errors.Is(err, document.ErrMoved) || a == nil {
		if errors.Is(err, document.ErrMoved) {
			err = gone
		}
		return content{}, err
	}
	if windows, err = a.ArchivedWindows(ctx, v.site.Division.PageSize); err != nil {
		return content{}, err
	}
	i, found := partition.Find(windows, iv.From)
	if !found {
		return content{}, gone
	}
	return v.changes(ctx, document.ChangeArchive{ChangeArchiver: a}, windows[i], "Archived Change List")
}

// pageChangeManifest is the page of the manifest of a package of changes.
func pageChangeManifest(ctx context.Context, v *View) (content, error) {
	dump, err := v.t.Set.ChangePackages.Dump(ctx)
	if err != nil {
		return content{}, err
	}
	p, found := dump.Find(v.t.Part)
	if !found {
		return content{}, &document.Gone{Index: v.page(document.KindChangeDump, ""), Reason: "the division of the journal has changed, or it no longer has these changes"}
	}
	out, err := v.changes(ctx, v.t.Set.Journal(), p, nameOf(v.t.Kind.Capability))
	if data, ok := out.data.(pages.Changes); ok {
		data.Package = v.t.URL(document.KindChangePackage, v.t.Part)
		out.data = data
	}
	return out, err
}

// changes is the page of the changes of r in iv, the newest first, from the time v.after
// backwards. Changes with the same datetime are never on two pages.
func (v *View) changes(ctx context.Context, r document.Record, iv resourcesync.Interval, title string) (content, error) {
	before, err := v.time()
	if err != nil {
		return content{}, err
	}
	data := pages.Changes{Facts: v.intervalFacts(iv)}
	if iv.Open() && before.IsZero() {
		data.Live = live(v.t.Set)
	}
	if !before.IsZero() {
		data.Pager.First = v.Here("", v.Sort)
		iv.Until = before.Add(-1)
		if !iv.Until.After(iv.From) {
			return content{}, v.t.NotExist("a list with this position")
		}
	}
	newest, err := newestChange(ctx, v.t.Set, v.now)
	if err != nil {
		return content{}, err
	}
	size, partial, more := 0, false, false
read:
	for span, err := range paging.Backwards(reader(ctx, r), iv, newest) {
		if err != nil {
			return content{}, err
		}
		for _, c := range slices.Backward(span.Changes) {
			row := pages.NewChange(&c, v.site.Routes.Origin)
			if size += row.Size(); len(data.Rows) == pages.Rows || size > pages.Budget && len(data.Rows) > 0 {
				more = true
				break read
			}
			data.Rows = append(data.Rows, row)
		}
		partial = partial || span.Partial
	}
	if more {
		cutAtTime(&data, &partial)
		data.Pager.Next = v.Here(partition.FormatTime(data.Rows[len(data.Rows)-1].Datetime), v.Sort)
	}
	data.Caption = v.caption(len(data.Rows), -1, "change", data.Pager)
	if data.Pager.First == "" && more {
		data.Caption = "The newest " + number(int64(len(data.Rows)), "change")
	}
	if partial {
		data.Caption += "; more have the same time, and are in the XML only"
	}
	data.Sort(v.Sort, func(o pages.Order) string { return v.Here(v.After, o) })
	return content{title: title, data: data, connect: data.Live}, nil
}

// cutAtTime removes the oldest rows of a page whose datetime has further changes, unless all
// rows have it.
func cutAtTime(data *pages.Changes, partial *bool) {
	n := len(data.Rows)
	last := data.Rows[n-1].Datetime
	for n > 0 && data.Rows[n-1].Datetime.Equal(last) {
		n--
	}
	if n > 0 {
		data.Rows = data.Rows[:n]
	} else {
		*partial = true
	}
}

// reader returns a function that reads intervals of r.
func reader(ctx context.Context, r document.Record) func(resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(iv resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
		return r.Changes(ctx, iv, nil) // the list reports what it omits
	}
}

// newestChange returns the time of the newest change of the journal or, if that is unknown,
// now.
func newestChange(ctx context.Context, st *document.Set, now time.Time) (time.Time, error) {
	stat, err := document.StatOf(ctx, st.ChangeStater, partition.Whole)
	if err != nil || stat.LastModified.Unix() <= 0 || stat.LastModified.After(now) {
		return now, err
	}
	return stat.LastModified, nil
}

func (v *View) intervalFacts(iv resourcesync.Interval) []webpage.Fact {
	facts := []webpage.Fact{timeFact("From", iv.From)}
	if iv.From.Unix() <= 0 {
		facts[0] = webpage.Fact{Name: "From", Value: "The beginning"}
	}
	if iv.Open() {
		return append(facts, webpage.Fact{Name: "Until", Value: "Open", Note: "new changes are added"})
	}
	return append(facts, timeFact("Until", iv.Until))
}

// intervals is the page of an index of documents for intervals, the newest first.
func (v *View) intervals(title, kind string, all []resourcesync.Interval, name func(resourcesync.Interval) string) (content, error) {
	data := pages.List{Columns: []webpage.Column{{Name: "From"}, {Name: "Until"}, {Name: "State"}}, Empty: "Nothing here yet."}
	shown, err := v.newestIntervals(all, pages.Rows, &data.Pager)
	if err != nil {
		return content{}, err
	}
	for _, iv := range shown {
		state := pages.Cell{Text: "closed", Badge: "closed"}
		if iv.Open() {
			state = pages.Cell{Text: "open", Badge: "open"}
		}
		begin := pages.Cell{Text: timetext.Of(iv.From), URL: v.page(kind, name(iv))}
		data.Rows = append(data.Rows, []pages.Cell{begin, {Time: iv.Until}, state})
	}
	data.Facts = countFact("Lists", int64(len(all)))
	data.Caption = v.caption(len(data.Rows), int64(len(all)), "list", data.Pager)
	return content{title: title, data: data}, nil
}

// newestIntervals returns those of all that are on a page of some rows, the newest first, and
// sets the pager.
func (v *View) newestIntervals(all []resourcesync.Interval, rows int, p *webpage.Pager) ([]resourcesync.Interval, error) {
	before, err := v.time()
	if err != nil {
		return nil, err
	}
	end := len(all)
	if !before.IsZero() {
		end, _ = partition.Find(all, before)
		p.First = v.Here("", "")
	}
	begin := max(0, end-rows)
	if begin > 0 {
		p.Next = v.Here(partition.FormatTime(all[begin].From), "")
	}
	shown := slices.Clone(all[begin:end])
	slices.Reverse(shown)
	return shown, nil
}

// pageChangeDump is the page of a Change Dump or its index, or of a part of it.
func pageChangeDump(ctx context.Context, v *View) (content, error) {
	dump, err := v.t.Set.ChangePackages.Dump(ctx)
	if err != nil {
		return content{}, err
	}
	parts := v.t.Set.DumpParts(dump)
	listed := dump.Packages
	switch {
	case v.t.Kind.Parent != "":
		part, err := v.t.Window(parts)
		if errors.Is(err, document.ErrMoved) {
			err = &document.Gone{Index: v.page(document.KindChangeDump, ""), Reason: "the division of the journal has changed"}
		}
		if err != nil {
			return content{}, err
		}
		listed = dump.In(part)
	case len(parts) > 1:
		return v.intervals("Change Dump Index", document.KindChangeDumpPart, parts, func(iv resourcesync.Interval) string { return partition.FormatTime(iv.From) })
	}
	data := pages.List{
		Columns: []webpage.Column{{Name: "Package from"}, {Name: "Until"}, {Name: "Size", Class: "number"}, {Name: "Contents"}},
		Empty:   "No package has been closed yet. The first changes appear here when the first package is closed.",
		Facts:   countFact("Packages", int64(len(listed))),
	}
	shown, err := v.newestIntervals(listed, packagesOnPage, &data.Pager)
	if err != nil {
		return content{}, err
	}
	for _, p := range shown {
		name := packages.Name(p)
		length, err := v.t.Set.ChangePackageLength(ctx, p)
		if err != nil {
			return content{}, err
		}
		data.Rows = append(data.Rows, []pages.Cell{
			{Text: timetext.Of(p.From), URL: v.t.URL(document.KindChangePackage, name)},
			{Time: p.Until},
			{Text: size(length), Class: "number"},
			{Text: "Manifest", URL: v.page(document.KindChangeManifest, name)},
		})
	}
	data.Caption = v.caption(len(data.Rows), int64(len(listed)), "package", data.Pager)
	return content{title: "Change Dump", intro: "The content of changes in ZIP packages, the newest first.", data: data}, nil
}
