package view

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/checked"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// pageResourceList is the page of resourcelist.xml: of the pages if the list is an index,
// otherwise of the resources.
func pageResourceList(ctx context.Context, v *View) (content, error) {
	p, err := v.t.Set.Pages.Get(ctx)
	if err != nil {
		return content{}, err
	}
	if v.Begin != "" {
		return v.search(ctx)
	}
	if len(p.Cuts) == 1 {
		return v.resources(ctx, partition.Whole, "Resource List")
	}
	field, err := v.searchField(ctx)
	if err != nil {
		return content{}, err
	}
	out, err := v.ranges("Resource List Index", document.KindResourcePage, p.Cuts, "list")
	if data, ok := out.data.(pages.List); ok {
		data.Search = field
		out.data = data
	}
	return out, err
}

// pageResourcePage is the page of a range of keys: a page of a Resource List, or a manifest.
func pageResourcePage(ctx context.Context, v *View) (content, error) {
	r, ok := partition.ParseRange(v.t.Part)
	if !ok {
		return content{}, v.t.NotExist("a range of keys")
	}
	out, err := v.resources(ctx, r, nameOf(v.t.Kind.Capability))
	if data, ok := out.data.(pages.Resources); ok && v.t.Kind.Name == document.KindDumpManifest {
		data.Search, data.Package = nil, v.t.URL(document.KindDumpPackage, v.t.Part)
		out.data = data
	}
	return out, err
}

// resources is the page of the resources in r.
func (v *View) resources(ctx context.Context, r resourcesync.Range, title string) (content, error) {
	st := v.t.Set
	stat, err := document.StatOf(ctx, st.Stater, r)
	if err != nil {
		return content{}, err
	}
	if st.Stater == nil {
		stat.Count = -1
	}
	return v.rows(ctx, r, stat, title)
}

// rows is the page of the resources in r, which stat describes, with the field for a search. It
// reads those that it shows.
func (v *View) rows(ctx context.Context, r resourcesync.Range, stat resourcesync.Stat, title string) (content, error) {
	var data pages.Resources
	data.Facts = append(countFact("Resources", stat.Count), v.ageFact("Last change", stat.LastModified)...)
	begin, err := v.key()
	if err != nil {
		return content{}, err
	}
	if begin > r.From {
		r.From = begin
		data.Pager.First = v.Here("", v.Sort)
	}
	if r.To != "" && r.From >= r.To {
		return content{}, v.t.NotExist("a range with this position")
	}
	last, size := "", 0
	for res, err := range checked.Resources(ctx, v.t.Set.Provider, r, nil) { // the list reports what it omits
		if err != nil {
			return content{}, err
		}
		if last == "" {
			data.Search = v.fieldOf(&res)
		}
		row := pages.NewResource(&res, v.site.Routes.Origin)
		if size += row.Size(); len(data.Rows) == pages.Rows || size > pages.Budget && len(data.Rows) > 0 {
			data.Pager.Next = v.Here(base64.RawURLEncoding.EncodeToString([]byte(last)), v.Sort)
			break
		}
		data.Rows, last = append(data.Rows, row), strings.Clone(res.Key)
	}
	data.Caption = v.caption(len(data.Rows), stat.Count, "resource", data.Pager)
	data.Sort(v.Sort, func(o pages.Order) string { return v.Here(v.After, o) })
	return content{title: title, data: data}, nil
}

// caption says how many rows a page shows of all, whose number is negative if it is unknown.
func (v *View) caption(rows int, all int64, noun string, p webpage.Pager) string {
	switch {
	case p.First == "" && p.Next == "" && rows > 1:
		return "All " + number(int64(rows), noun)
	case all >= 0 && p.First == "":
		return "The first " + number(int64(rows), noun) + " of " + webpage.Count(all)
	case all >= 0:
		return number(int64(rows), noun) + " of " + webpage.Count(all)
	}
	return number(int64(rows), noun)
}

// packagesOnPage is the number of packages on a page of a dump. The length of a package that
// is shown for the first time is computed from its entries, as for the XML.
const packagesOnPage = 50

// size returns a length in words.
func size(l resourcesync.Length) string {
	if n, ok := l.Bytes(); ok {
		return webpage.Bytes(n)
	}
	return "unknown"
}

// pageDump is the page of a Resource Dump or its index.
func pageDump(ctx context.Context, v *View) (content, error) {
	r, ok := v.t.DumpRange()
	if !ok {
		return content{}, v.t.NotExist("a range of keys")
	}
	p, err := v.t.Set.Packages.Get(ctx)
	if err != nil {
		return content{}, err
	}
	if v.t.Kind.Parent == "" && len(p.Groups) > 1 {
		return v.ranges("Resource Dump Index", document.KindDumpPart, p.Groups, "dump")
	}
	begin, err := v.key()
	if err != nil {
		return content{}, err
	}
	data := pages.List{
		Columns: []webpage.Column{{Name: "Package"}, {Name: "Size", Class: "number"}, {Name: "Last change", Class: "wide"}, {Name: "Contents"}},
		Empty:   "No packages here.",
	}
	begin = strings.TrimSuffix(begin, "\x00")
	if begin != "" {
		data.Pager.First = v.Here("", "")
	}
	ranges, _ := p.BeginningIn(r)
	n := 0
	for r := range ranges {
		if n++; r.From < begin {
			continue
		}
		if len(data.Rows) == packagesOnPage {
			data.Pager.Next = v.Here(base64.RawURLEncoding.EncodeToString([]byte(r.From)), "")
			break
		}
		name := partition.FormatRange(r)
		row := []pages.Cell{{Text: "Package " + webpage.Count(int64(n)), URL: v.t.URL(document.KindDumpPackage, name)}, {Class: "number"}, {Class: "wide"}, {Text: "Manifest", URL: v.page(document.KindDumpManifest, name)}}
		stats, err := v.t.Set.PackageStats(ctx, r)
		if err != nil {
			return content{}, err
		}
		row[1].Text, row[2].Time = size(stats.Length), stats.At
		data.Rows = append(data.Rows, row)
	}
	v.t.Set.ResourcePackages.Keep(p)
	data.Facts = append(countFact("Packages", int64(len(p.Cuts))), v.ageFact("Last change", p.At)...)
	data.Caption = v.caption(len(data.Rows), -1, "package", data.Pager)
	return content{title: "Resource Dump", intro: "The content of the set in ZIP packages. They are made while they are sent, and a download can be resumed.", data: data}, nil
}

// ranges is the page of an index of documents for ranges of keys.
func (v *View) ranges(title, kind string, cuts []resourcesync.Cut, noun string) (content, error) {
	begin, err := v.key()
	if err != nil {
		return content{}, err
	}
	begin = strings.TrimSuffix(begin, "\x00")
	first := 0
	if begin != "" {
		if first = slices.IndexFunc(cuts, func(c resourcesync.Cut) bool { return c.Key == begin }) + 1; first == 0 {
			first = len(cuts) // the division has changed
		}
	}
	data := pages.List{Columns: []webpage.Column{{Name: "List"}, {Name: "Resources", Class: "number"}, {Name: "Last change"}}, Empty: "The division has changed. Continue at the first page."}
	if first > 0 {
		data.Pager.First = v.Here("", "")
	}
	from, all := "", int64(0)
	for i, c := range cuts {
		r := resourcesync.Range{From: from, To: c.Key}
		from = c.Key
		all += int64(c.Count)
		if i < first || i >= first+pages.Rows {
			continue
		}
		row := []pages.Cell{{Text: strings.ToUpper(noun[:1]) + noun[1:] + " " + webpage.Count(int64(i+1)), URL: v.page(kind, partition.FormatRange(r))}, {Class: "number"}, {Time: c.Newest}}
		if c.Count > 0 {
			row[1].Text = webpage.Count(int64(c.Count))
		}
		data.Rows = append(data.Rows, row)
		if i+1 == first+pages.Rows && i+1 < len(cuts) {
			data.Pager.Next = v.Here(base64.RawURLEncoding.EncodeToString([]byte(c.Key)), "")
		}
	}
	data.Facts = countFact(strings.ToUpper(noun[:1])+noun[1:]+"s", int64(len(cuts)))
	if all > 0 {
		data.Facts = append(data.Facts, countFact("Resources", all)...)
	}
	data.Caption = v.caption(len(data.Rows), int64(len(cuts)), noun, data.Pager)
	return content{title: title, data: data}, nil
}

// pageArchive is the page of an archive or of a page of it. It reads the archive up to the
// last document that it shows, as the XML does.
func pageArchive(ctx context.Context, v *View) (content, error) {
	from, err := v.time()
	if err != nil {
		return content{}, err
	}
	if v.t.Part != "" && v.After == "" {
		if from, err = partition.ParseTime(v.t.Part); err != nil {
			return content{}, v.t.NotExist("a time")
		}
	}
	data := pages.List{Columns: []webpage.Column{{Name: "Document"}, {Name: "From"}, {Name: "Until"}}, Empty: "The archive is empty."}
	if !document.IsOfSpans(v.t.Kind.Capability) {
		data.Columns = []webpage.Column{{Name: "Document"}, {Name: "As of"}, {Name: "Completed"}}
	}
	if v.After != "" {
		data.Pager.First = v.Here("", "")
	}
	size := 0
	for s, err := range v.t.Snapshots(ctx) {
		if err != nil {
			return content{}, err
		}
		at := time.UnixMicro(document.TimeOf(&s))
		if at.Before(from) {
			continue
		}
		text := pages.Text(s.URI, v.site.Routes.Origin)
		if size += pages.Escaped(s.URI) + pages.Escaped(text) + 300; len(data.Rows) == pages.Rows || size > pages.Budget && len(data.Rows) > 0 {
			data.Pager.Next = v.Here(partition.FormatTime(at), "")
			break
		}
		row := []pages.Cell{{Text: text, URL: s.URI, Class: "uri"}, {Time: s.At}, {Time: s.Completed}}
		if document.IsOfSpans(v.t.Kind.Capability) {
			row[1].Time, row[2].Time = s.Interval.From, s.Interval.Until
		}
		data.Rows = append(data.Rows, row)
	}
	data.Caption = v.caption(len(data.Rows), -1, "document", data.Pager)
	return content{title: nameOf(v.t.Kind.Capability), intro: "Documents of earlier times, the oldest first.", data: data}, nil
}
