package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/paging"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/timetext"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// setsOnPage is the number of sets on a page of the Source. The size of each is read.
const setsOnPage = 40

// pageSource is the page of the Source Description and of its parts.
func pageSource(ctx context.Context, v *View) (out content, err error) {
	first, _ := strconv.Atoi(v.After)
	first = min(max(first, 0), len(v.site.Order)) / setsOnPage * setsOnPage
	shown := v.site.Order[first:min(first+setsOnPage, len(v.site.Order))]
	alone := len(v.site.Order) == 1
	out.title = cmp.Or(v.site.About.Title, "What this site publishes")
	out.intro = cmp.Or(v.site.About.Description, "Lists of its resources and of every change to them, by ResourceSync, so that others can copy them and stay in step.")
	out.Contact, out.DescribedBy, out.Harvest = v.contact(nil), v.site.DescribedBy, v.harvest(nil)
	total := resourcesync.Stat{}
	stats := make([]resourcesync.Stat, len(shown))
	for i, st := range shown {
		row, stat, err := v.setRow(ctx, st)
		if err != nil && !errors.Is(err, resourcesync.ErrNotReady) && alone {
			return content{}, err
		}
		out.Sets, stats[i] = append(out.Sets, row), stat
		if total.Count >= 0 {
			total.Count = max(total.Count+stat.Count, -1)
		}
		if stat.Count < 0 {
			total.Count = -1
		}
	}
	v.addRecent(ctx, &out, shown, func(st *document.Set, failed error) {
		if alone {
			err = failed
		}
		out.Sets[slices.Index(shown, st)].State = unavailable
	})
	for i, st := range shown {
		if r := v.recents[st].Load(); r != nil && len(r.latest) == 0 { // the first scan of a set is not a change
			stats[i].LastModified = time.Time{}
		}
		if stats[i].LastModified.After(total.LastModified) {
			total.LastModified = stats[i].LastModified
		}
		if row := &out.Sets[i]; row.State == "" && alone {
			row.State = "Its documents, in the order in which a harvester needs them:"
		} else if row.State == "" {
			row.State = v.describeSet(stats[i])
		}
	}
	if !alone {
		out.Facts = countFact("Sets", int64(len(v.site.Order)))
	}
	if len(shown) == len(v.site.Order) {
		out.Facts = append(out.Facts, countFact("Resources", total.Count)...)
		out.Facts = append(out.Facts, v.ageFact("Last change", total.LastModified)...)
	}
	out.Facts = append(out.Facts, v.pushFact())
	if first > 0 {
		out.Pager.First = v.Here("")
		out.Pager.Previous = v.Here(strconv.Itoa(first - setsOnPage))
	}
	if end := first + setsOnPage; end < len(v.site.Order) {
		out.Pager.Next = v.Here(strconv.Itoa(end))
	}
	return out, err
}

// describeSet says how large a set is and how old its last change, as far as they are known.
func (v *View) describeSet(stat resourcesync.Stat) string {
	var parts []string
	if stat.Count >= 0 {
		parts = append(parts, webpage.Number(stat.Count, "resource"))
	}
	for _, age := range v.ageFact("changed", stat.LastModified) {
		parts = append(parts, age.Name+" "+age.Value)
	}
	return strings.Join(parts, " · ")
}

// unavailable is the state of a set that cannot be read. The log has the cause once the page of the set
// is opened.
const unavailable = "Not available at the moment"

// setRow returns the row of st, and its Stat, whose count is negative if it is unknown. The row
// is valid even if there is an error.
func (v *View) setRow(ctx context.Context, st *document.Set) (pages.Set, resourcesync.Stat, error) {
	row := pages.Set{Name: display(st), Description: st.About.Description, URL: st.URL(document.KindCapabilityList+document.PageOf, "")}
	for _, c := range slices.Concat(st.Capabilities(), st.Channels()) {
		if uri := v.channelOrDocument(st, c); uri != "" {
			row.Capabilities = append(row.Capabilities, webpage.Link{Text: nameOf(c), URL: uri})
		}
	}
	stat, err := document.StatOf(ctx, st.Stater, partition.Whole)
	switch {
	case errors.Is(err, resourcesync.ErrNotReady):
		row.State = "Being prepared"
	case err != nil:
		row.State = unavailable
	}
	if err != nil {
		return row, resourcesync.Stat{Count: -1}, err
	}
	if st.Stater == nil {
		stat.Count = -1
	}
	return row, stat, nil
}

// channelOrDocument returns the URL of the page of a capability of st. A channel of
// WebSockets alone has none.
func (v *View) channelOrDocument(st *document.Set, c resourcesync.Capability) string {
	if k := v.site.Routes.Kinds[string(c)+document.PageOf]; k == nil || !k.Needs(st) {
		return ""
	}
	return st.URL(string(c)+document.PageOf, "")
}

// pageSet is the page of a Capability List.
func pageSet(ctx context.Context, v *View) (out content, err error) {
	st := v.t.Set
	row, stat, err := v.setRow(ctx, st)
	isReady := err == nil
	if !isReady && !errors.Is(err, resourcesync.ErrNotReady) {
		return content{}, err
	}
	out.title, out.intro = display(st), cmp.Or(st.About.Description, "The documents of this set of resources, and how to copy it and stay in step.")
	out.Contact, out.DescribedBy, out.Harvest = v.contact(st), st.DescribedBy, v.harvest(st)
	out.Facts = countFact("Resources", stat.Count)
	if !isReady {
		out.Facts = append(out.Facts, webpage.Fact{Name: "State", Value: row.State})
	}
	out.Table = webpage.Table{Label: "Documents", Columns: []webpage.Column{{Name: "Document", Header: true}, {Name: "State"}, {Name: "Raw", Class: "number"}}}
	for _, c := range st.Capabilities() {
		state := ""
		if isReady {
			state = v.stateOf(ctx, st, c)
		}
		out.Table.Rows = append(out.Table.Rows, []webpage.Cell{
			{Text: nameOf(c), URL: v.page(string(c), ""), Note: purposes[c]}, {Text: state},
			{Text: "XML", URL: v.t.URL(string(c), "") + "?xml", Spoken: " of " + nameOf(c)},
		})
	}
	if st.Changer == nil {
		out.Facts = append(out.Facts, v.ageFact("Last change", stat.LastModified)...)
	} else if isReady {
		v.addRecent(ctx, &out, []*document.Set{st}, func(_ *document.Set, failed error) { err = failed })
		if err != nil {
			return content{}, err
		}
		since, err := st.Changer.Since(ctx)
		if err != nil {
			return content{}, err
		}
		if out.Recent == nil || len(out.Recent.Changes.Rows) > 0 { // the first scan of a set is not a change
			out.Facts = append(out.Facts, v.ageFact("Last change", stat.LastModified)...)
		}
		out.Facts = append(out.Facts, v.ageFact("Changes since", since)...)
	}
	out.Channels, err = v.channels(ctx, st)
	out.Facts = append(out.Facts, v.pushFact())
	return out, err
}

var purposes = map[resourcesync.Capability]string{
	resourcesync.ResourceList:          "Every resource, for a first copy and for audits.",
	resourcesync.ResourceDump:          "The content of every resource, in ZIP packages.",
	resourcesync.ChangeList:            "Every creation, update and deletion, to keep a copy in step.",
	resourcesync.ChangeDump:            "The content of every change, in ZIP packages.",
	resourcesync.ResourceListArchive:   "Earlier Resource Lists.",
	resourcesync.ResourceDumpArchive:   "Earlier Resource Dumps.",
	resourcesync.ChangeListArchive:     "Earlier Change Lists.",
	resourcesync.ChangeDumpArchive:     "Earlier Change Dumps.",
	resourcesync.ChangeNotification:    "Each change of a resource, sent at once.",
	resourcesync.FrameworkNotification: "Each change of a document, such as a new Change List.",
}

// stateOf describes a document of st without reading it: its size, its
// freshness, and when the next one begins.
func (v *View) stateOf(ctx context.Context, st *document.Set, c resourcesync.Capability) string {
	switch c {
	case resourcesync.ResourceList:
		if p := st.Pages.Current(); p != nil && len(p.Cuts) > 1 {
			return "An index of " + webpage.Number(int64(len(p.Cuts)), "list") + "."
		}
		return "One list, always current."
	case resourcesync.ResourceDump:
		if p := st.Packages.Current(); p != nil {
			return webpage.Number(int64(len(p.Cuts)), "package") + ", made during the download."
		}
		return "Divided into packages when it is first requested."
	case resourcesync.ChangeList:
		windows, err := st.Windows.Get(ctx)
		if err != nil {
			return ""
		}
		return v.openWindow(ctx, st, windows)
	case resourcesync.ChangeDump:
		if d := st.ChangePackages.Current(); d != nil {
			return webpage.Number(int64(len(d.Packages)), "package") + ". A package is closed " + every(st.Division.PackageEvery) + " if there are changes."
		}
		return "Divided into packages when it is first requested."
	}
	return ""
}

// openWindow describes the Change Lists of a journal, and when the next one begins: after the
// boundary that follows the first change of the open window, unless one list is enough for all.
func (v *View) openWindow(ctx context.Context, st *document.Set, windows []resourcesync.Interval) string {
	open := windows[len(windows)-1]
	text := webpage.Number(int64(len(windows)), "list") + ", the last open since " + timetext.Of(open.From) + "."
	if len(windows) == 1 {
		return "One list, open since " + timetext.Of(open.From) + "."
	}
	window := st.Division.Window
	if _, ok := st.Changer.(resourcesync.Windower); ok {
		w, ok := st.Changer.(resourcesync.WindowSpanner)
		if !ok {
			return text
		}
		window = w.Window()
	}
	first, err := st.Journal().First(ctx, open)
	if err != nil || first.IsZero() {
		return text
	}
	if next := paging.Boundary(first, window); next.After(v.now) {
		return text + " The next begins with the first change after " + timetext.Of(next) + "."
	}
	return text + " The next change begins a new list."
}

// every returns d as an interval in words.
func every(d time.Duration) string {
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		switch {
		case d == unit.d:
			return "every " + unit.name
		case d%unit.d == 0:
			return "every " + webpage.Number(int64(d/unit.d), unit.name)
		}
	}
	return "every " + d.String()
}
