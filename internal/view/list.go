package view

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/render"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// list is the page of a document that lists resources, changes or documents. The renderer of the
// document gives the entries. If the document changes meanwhile, list reads it once more.
func (v *View) list(ctx context.Context) (content, error) {
	out, err := v.listOnce(ctx)
	if errors.Is(err, document.ErrMoved) {
		out, err = v.listOnce(ctx)
	}
	if gone := (*document.Gone)(nil); errors.As(err, &gone) {
		err = &document.Gone{Index: v.pageOf(gone.Index), Reason: gone.Reason}
	}
	return out, err
}

func (v *View) listOnce(ctx context.Context) (content, error) {
	t, st := v.t, (*document.State)(nil)
	var data content
	if v.Begin != "" {
		field, found, err := v.search(ctx)
		if err != nil {
			return content{}, err
		}
		data.Search, st = field, document.RangeState(found)
		t.Kind, t.Part = v.site.Routes.Kinds[document.KindResourcePage], partition.FormatRange(found)
	}
	w, err := v.window()
	if err != nil {
		return content{}, err
	}
	size, last := 0, ""
	w.Take = func(h *rsxml.Head, key string, e *rsxml.Entry) bool {
		table := tableOf(h)
		if len(data.Table.Rows) == 0 && table == resources && data.Search == nil && t.Kind.Capability == resourcesync.ResourceList {
			data.Search = v.fieldOf(e.Loc, key)
		}
		row, n := table.row(entry{v, e, w.Skip + len(data.Table.Rows) + 1})
		if size += n; len(data.Table.Rows) == table.rows || size > pages.Budget && len(data.Table.Rows) > 0 {
			return false
		}
		data.Table.Rows, last = append(data.Table.Rows, row), strings.Clone(key)
		return true
	}
	head, st, err := t.Show(ctx, st, w)
	if err != nil {
		return content{}, err
	}
	table := tableOf(head)
	data.Table.Columns, data.Table.Empty = table.head(), table.empty
	if v.Begin != "" {
		data.Table.Empty = "Nothing begins with “" + v.Begin + "”."
	}
	if data.Search == nil && head.Index && v.t.Kind.Name == document.KindResourceList {
		if data.Search, err = v.searchField(ctx); err != nil {
			return content{}, err
		}
	}
	if v.After != "" {
		data.Pager.First = v.Here("")
	}
	if w.More {
		data.Pager.Next = v.Here(next(&data, table, last, w))
	}
	if table == changes && head.Metadata.Until.IsZero() && v.After == "" {
		data.Live = live(v.t.Set)
		data.Table.Live = len(data.Live) * table.rows
	}
	v.describe(&data, head, st, w)
	data.title, data.intro, data.Table.Caption = v.title(head, st), table.intro, true
	return data, nil
}

// describe sets what data says about the list as a whole.
func (v *View) describe(data *content, head *rsxml.Head, st *document.State, w *render.Window) {
	table, md, all := tableOf(head), head.Metadata, int64(-1)
	switch {
	case table == changes:
		data.Facts = intervalFacts(md.From, md.Until)
	case table == resources:
		all = st.Count
		data.Facts = countFact("Resources", all)
	case w.All > 0:
		all = int64(w.All)
		data.Facts = countFact(strings.ToUpper(table.noun[:1])+table.noun[1:]+"s", all)
		if table == lists && st.Count > 0 {
			data.Facts = append(data.Facts, countFact("Resources", st.Count)...)
		}
	}
	if !head.Index { // its time is when the set was divided
		data.Facts = append(data.Facts, v.ageFact("Last change", md.At)...)
	}
	for _, l := range head.Links {
		if l.Rel == resourcesync.RelAlternate {
			data.Links = append(data.Links, webpage.Link{Text: "The newest changes in one list", URL: v.pageOf(l.Href)})
		}
	}
	if kind := packageOf[v.t.Kind.Name]; kind != "" {
		data.Links = append(data.Links, webpage.Link{Text: "Download the package (ZIP)", URL: v.t.URL(kind, v.t.Part)})
	}
	switch n := int64(len(data.Table.Rows)); {
	case v.Begin != "" && data.Pager == (webpage.Pager{}):
		data.Table.Label = webpage.Number(n, table.noun) + " found"
	case v.Begin != "":
		data.Table.Label = webpage.Number(n, table.noun) + " on this page"
	case table == changes && data.Pager.First == "" && w.More:
		data.Table.Label = "The newest " + webpage.Number(n, table.noun)
	default:
		data.Table.Label = caption(n, all, table.noun, data.Pager)
	}
	if w.Partial {
		data.Table.Label += "; more have the same time, and are in the XML only"
	}
}

// packageOf has the kinds of the packages that manifests describe.
var packageOf = map[string]string{document.KindDumpManifest: document.KindDumpPackage, document.KindChangeManifest: document.KindChangePackage}

// caption says how many rows a page shows of all, whose number is negative if it is unknown.
func caption(rows, all int64, noun string, p webpage.Pager) string {
	switch {
	case p.First == "" && p.Next == "" && rows > 2:
		return "All " + webpage.Number(rows, noun)
	case p.First == "" && p.Next == "":
		return webpage.Number(rows, noun)
	case all >= 0 && p.First == "":
		return "The first " + webpage.Number(rows, noun) + " of " + humanize.Comma(all)
	case all >= 0:
		return webpage.Number(rows, noun) + " of " + humanize.Comma(all)
	}
	return webpage.Number(rows, noun)
}

// title names the document on its page.
func (v *View) title(h *rsxml.Head, st *document.State) string {
	name := nameOf(h.Metadata.Capability)
	switch {
	case h.Index:
		return name + " Index"
	case v.t.Kind.Name == document.KindRecentChanges:
		return "Recent changes"
	case st.Archived():
		return "Archived " + name
	}
	return name
}

// window returns the window that begins at v.After: after a number of entries, before a time, or
// after the key of the last resource of the page before.
func (v *View) window() (*render.Window, error) {
	w := &render.Window{}
	var err error
	if n, digits := strconv.ParseUint(v.After, 10, 16); digits == nil {
		w.Skip = int(n)
	} else if encoded, ok := strings.CutPrefix(v.After, "~"); ok {
		var key []byte
		key, err = base64.RawURLEncoding.Strict().DecodeString(encoded)
		w.Key = string(key) + "\x00"
	} else if v.After != "" {
		w.Before, err = partition.ParseTime(v.After)
	}
	if err != nil || len(w.Key) > resourcesync.MaxKeyLength+1 {
		return nil, v.t.NotExist("a list with this position")
	}
	return w, nil
}

// next returns the position after a page of data, whose last resource has a key. Changes with the
// same time are never on two pages: those at the end of a page are left to the next, or are left
// out if the whole page has their time.
func next(data *content, table *table, key string, w *render.Window) string {
	switch table {
	case resources:
		return "~" + base64.RawURLEncoding.EncodeToString([]byte(key))
	case changes:
		n := len(data.Table.Rows)
		last := data.Table.Rows[n-1][0].At
		for n > 0 && data.Table.Rows[n-1][0].At.Equal(last) {
			n--
		}
		if w.Partial = w.Partial || n == 0; n > 0 {
			data.Table.Rows = data.Table.Rows[:n]
		}
		return partition.FormatTime(data.Table.Rows[len(data.Table.Rows)-1][0].At)
	}
	return strconv.Itoa(w.Skip + len(data.Table.Rows))
}
