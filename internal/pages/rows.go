package pages

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// NewResource returns the row of r. URIs of origin, such as "https://example.org", are shown
// without it.
func NewResource(r *resourcesync.Resource, origin string) Resource {
	row := Resource{URI: r.URI, Text: Text(r.URI, origin), Modified: r.LastModified, Type: short(r.Type, 60), bytes: -1}
	if n, ok := r.Length.Bytes(); ok {
		row.Length, row.bytes = webpage.Bytes(n), n
	}
	for _, h := range r.Hashes {
		row.Digest = h.Algorithm + ":" + short(h.Digest, 9)
	}
	return row
}

// NewChange returns the row of c.
func NewChange(c *resourcesync.Change, origin string) Change {
	return Change{Resource: NewResource(&c.Resource, origin), Type: c.Type, Datetime: c.Datetime}
}

// Size returns about the number of bytes of the row in a page.
func (r *Resource) Size() int {
	return Escaped(r.URI) + Escaped(r.Text) + Escaped(r.Type) + 280
}

// Escaped returns about the number of bytes of s in a page.
func Escaped(s string) int {
	n := len(s)
	for i := range len(s) {
		switch s[i] {
		case '&', '<', '>', '"', '\'', '+':
			n += len("&#43;") - 1
		}
	}
	return n
}

// Text returns the form in which a page shows a URI: without its origin, decoded where that makes
// words readable, and shortened if it is long.
func Text(uri, origin string) string {
	text := uri
	if rest, ok := strings.CutPrefix(uri, origin); ok && origin != "" && strings.HasPrefix(rest, "/") {
		text = rest
	}
	if decoded, err := url.PathUnescape(text); err == nil && utf8.ValidString(decoded) && !strings.ContainsFunc(decoded, func(r rune) bool { return !unicode.IsPrint(r) }) {
		text = decoded
	}
	return short(text, 160)
}

// short returns s with at most max runes, the middle replaced by an ellipsis.
func short(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	runes := []rune(s)
	return string(runes[:max-max/3-1]) + "…" + string(runes[len(runes)-max/3:])
}

// beginning returns at most max runes of s, up to the end of a word.
func beginning(s string, max int) string {
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	s = string([]rune(s)[:max])
	if i := strings.LastIndexFunc(s, unicode.IsSpace); i > 0 {
		s = s[:i]
	}
	return s + " …"
}

// An Order is how the rows of a page are sorted: the name of a column, after a '-' in
// descending order.
type Order string

// descends reports whether o sorts in descending order.
func (o Order) split() (column string, descending bool) {
	column, descending = strings.CutPrefix(string(o), "-")
	return column, descending
}

// A sortable is a column by which rows of type T can be sorted.
type sortable[T any] struct {
	name, title, class string
	descends           bool // at first
	compare            func(a, b *T) int
}

var resourceColumns = []sortable[Resource]{
	{"uri", "Resource", "", false, func(a, b *Resource) int { return strings.Compare(a.URI, b.URI) }},
	{"modified", "Last modified", "", true, func(a, b *Resource) int { return a.Modified.Compare(b.Modified) }},
	{"size", "Size", "number", true, func(a, b *Resource) int { return cmp.Compare(a.bytes, b.bytes) }},
	{"type", "Type", "wide", false, func(a, b *Resource) int { return strings.Compare(a.Type, b.Type) }},
	{"", "Checksum", "wide", false, nil},
}

var changeColumns = []sortable[Change]{
	{"time", "Time", "", true, func(a, b *Change) int { return a.Datetime.Compare(b.Datetime) }},
	{"change", "Change", "", false, func(a, b *Change) int { return strings.Compare(string(a.Type), string(b.Type)) }},
	{"uri", "Resource", "", false, func(a, b *Change) int { return strings.Compare(a.URI, b.URI) }},
	{"size", "Size", "number wide", true, func(a, b *Change) int { return cmp.Compare(a.bytes, b.bytes) }},
	{"type", "Type", "wide", false, func(a, b *Change) int { return strings.Compare(a.Resource.Type, b.Resource.Type) }},
}

// Sort sorts the rows of p, and sets its columns. link returns the URL of the page in another
// order. An unknown order leaves the rows in the order of their keys.
func (p *Resources) Sort(o Order, link func(Order) string) {
	p.Columns = sort(resourceColumns, p.Rows, o, link)
}

// Sort is as for Resources. The rows of p are in chronological order, the newest first.
func (p *Changes) Sort(o Order, link func(Order) string) {
	p.Columns = sort(changeColumns, p.Rows, cmp.Or(o, "-time"), link)
}

func sort[T any](columns []sortable[T], rows []T, o Order, link func(Order) string) []webpage.Column {
	by, descending := o.split()
	out := make([]webpage.Column, len(columns))
	for i, c := range columns {
		out[i] = webpage.Column{Name: c.title, Class: c.class}
		if c.compare == nil {
			continue
		}
		next := c.descends // the order to which the column leads
		if c.name == by {
			next = !descending
			out[i].Sorted = "ascending"
			if descending {
				out[i].Sorted = "descending"
			}
			slices.SortStableFunc(rows, func(a, b T) int {
				if descending {
					return c.compare(&b, &a)
				}
				return c.compare(&a, &b)
			})
		}
		if next {
			out[i].URL = link(Order("-" + c.name))
		} else {
			out[i].URL = link(Order(c.name))
		}
	}
	return out
}

// Valid returns o if a page can be sorted by it, otherwise "".
func (o Order) Valid() Order {
	by, _ := o.split()
	for _, c := range resourceColumns {
		if c.compare != nil && c.name == by {
			return o
		}
	}
	for _, c := range changeColumns {
		if c.name == by {
			return o
		}
	}
	return ""
}
