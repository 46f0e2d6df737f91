package simulation

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A changeList is a list of the changes between two events of the log.
type changeList struct {
	from, until time.Time // until is zero for the open list, or if it is not stated
	closed      bool
	changes     []entry
}

// changeLists returns the Change Lists of a set after n entries. The last one is open.
func (f *foreign) changeLists(set, n int) []changeList {
	lists := []changeList{{from: f.w.began.Add(f.w.Skew)}}
	published := 0 // the lists that ended before the Resource List was published
	for _, e := range f.w.log[:n] {
		open := &lists[len(lists)-1]
		switch {
		case e.verb == "publish" && f.w.Lists == "single":
			*open = changeList{from: e.at}
		case e.verb == "publish":
			published = len(lists) - 1
		case e.verb == "close" && f.w.Lists == "":
			open.closed = true
			next := changeList{from: e.at}
			switch f.w.Until {
			case "":
				open.until = e.at
			case "last":
				open.until = open.from
				if len(open.changes) > 0 {
					open.until = open.changes[len(open.changes)-1].at
				}
				next.from = open.until
			}
			lists = append(lists, next)
		case e.name != "" && e.set == set:
			open.changes = append(open.changes, e)
		}
	}
	drop := max(0, len(lists)-1-f.w.Retain)
	if f.w.Retain == 0 {
		drop = 0
	}
	if f.w.Published {
		drop = min(drop, published)
	}
	return lists[drop:]
}

func (f *foreign) changeList(base string, set int, part string, n int) string {
	lists := f.changeLists(set, n)
	closed := f.closes(n) - (len(lists) - 1) // lists that are not kept
	up := upLink(base)
	switch {
	case f.w.Lists == "none":
		return ""
	case f.w.Lists == "single" && part == "":
		return f.changes(up, "changelist", &lists[0])
	case part == "":
		md := fmt.Sprintf(`<rs:md capability="changelist" from="%s"/>`+"\n", f.time(lists[0].from))
		return f.index(up+md, "changelist", len(lists), func(i int) string {
			return fmt.Sprintf("%schangelist-%d.xml", base, closed+i)
		}, func(i int) string { return f.interval(&lists[i]) })
	}
	i, err := strconv.Atoi(part)
	if i -= closed; err != nil || i < 0 || i >= len(lists) {
		return ""
	}
	return f.changes(up, "changelist", &lists[i])
}

// closes returns the number of lists that have been closed in the first n entries.
func (f *foreign) closes(n int) (closes int) {
	for _, e := range f.w.log[:n] {
		if e.verb == "close" && f.w.Lists == "" {
			closes++
		}
	}
	return closes
}

func (f *foreign) interval(l *changeList) string {
	s := fmt.Sprintf(` from="%s"`, f.time(l.from))
	if l.closed && !l.until.IsZero() {
		s += fmt.Sprintf(` until="%s"`, f.time(l.until))
	}
	return s
}

// changes returns a Change List, or a Change Notification.
func (f *foreign) changes(up, capability string, l *changeList) string {
	text, _ := f.changesDocument(up, capability, l, func(int) string { return "" })
	return text
}

// changesDocument returns a document with changes, and their versions. path returns an attribute for
// each version.
func (f *foreign) changesDocument(up, capability string, l *changeList, path func(i int) string) (text string, versions []version) {
	var b strings.Builder
	fmt.Fprintf(&b, head+`%s<rs:md capability="%s"%s/>`+"\n", "urlset", up, capability, f.interval(l))
	changes := append([]entry(nil), l.changes...)
	f.order(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	for _, e := range changes {
		lastmod, datetime, facts := e.lastmod, "", ""
		if e.verb == "deleted" {
			lastmod = time.Time{}
			if f.w.Changes == "lastmod" {
				lastmod = e.at
			}
		} else {
			facts = f.facts(&e.version) + path(len(versions))
			versions = append(versions, e.version)
		}
		switch f.w.Changes {
		case "":
			datetime = fmt.Sprintf(` datetime="%s"`, f.time(e.at))
		case "bare":
			lastmod = time.Time{}
		}
		fmt.Fprintf(&b, `<url><loc>%s</loc>%s<rs:md change="%s"%s%s/></url>`+"\n", e.uri(), f.lastmod(lastmod), e.verb, datetime, facts)
	}
	return b.String() + "</urlset>\n", versions
}
