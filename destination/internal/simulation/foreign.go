package simulation

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A foreign Source is a model of a Source that is not of this module. The parameters and the log
// determine its documents.
type foreign struct{ w *World }

func (f *foreign) note(*World, *entry) error { return nil }
func (f *foreign) close()                    {}

// ServeHTTP serves a document, or a resource.
func (f *foreign) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	f.w.mu.Lock()
	text, modified := f.document(strings.TrimPrefix(r.URL.Path, "/"), latest(asOf(r), f.w.relocated()))
	text = f.w.present(text)
	f.w.mu.Unlock()
	switch {
	case text != "":
	case f.w.hub != nil && r.URL.Path == "/"+hubPath:
		f.w.hub.ServeHTTP(rw, r)
		return
	case f.w.hub != nil && (strings.HasSuffix(r.URL.Path, "/"+changesTopic) || strings.HasSuffix(r.URL.Path, "/"+frameworkTopic)):
		f.serveTopic(rw, r)
		return
	default:
		f.w.serveResource(rw, r)
		return
	}
	rw.Header().Set("Content-Type", "application/xml")
	if strings.HasSuffix(r.URL.Path, ".zip") {
		rw.Header().Set("Content-Type", "application/zip")
	}
	serve(rw, r, []byte(text), f.w.Documents, modified)
}

// position returns the number of entries up to a moment of the world's clock.
func (w *World) position(when time.Time) int {
	n := 0
	for n < len(w.log) && !w.log[n].when.After(when) {
		n++
	}
	return n
}

// document returns the text of a document as of a moment, or nothing if the document does not
// exist.
func (f *foreign) document(path string, when time.Time) (text string, modified time.Time) {
	n := f.w.position(when)
	if n > 0 {
		modified = f.w.log[n-1].modified
	}
	if path == ".well-known/resourcesync" {
		return f.description(n), modified
	}
	folder, name, _ := strings.Cut(path, "/")
	set, err := strconv.Atoi(strings.TrimPrefix(folder, "set"))
	if err != nil || !strings.HasPrefix(folder, "set") || set >= 2*f.w.sets() {
		return "", modified
	}
	place := set
	set %= f.w.sets()
	if f.w.place(set, n) != place {
		return "", modified
	}
	base := Site + folder + "/"
	switch kind, part, _ := strings.Cut(strings.TrimSuffix(name, ".xml"), "-"); kind {
	case "capabilitylist":
		return f.capabilities(base), modified
	case "resourcelist":
		return f.resourceList(base, set, part, n), modified
	case "changelist":
		return f.changeList(base, set, part, n), modified
	}
	return f.dumped(base, set, name, when)
}

// place returns the number of the folder of a set, or -1 if the Source does not have the set.
func (w *World) place(set, n int) int {
	place := set
	for _, e := range w.log[:n] {
		switch {
		case w.Source != "" || e.set != set:
		case e.verb == "vanish":
			place = -1
		case e.verb == "appear":
			place = set
		case e.verb == "move" && place >= 0:
			place = 2*set + w.sets() - place // the other one of set and set + sets
		}
	}
	return place
}

const head = `<?xml version="1.0" encoding="UTF-8"?>
<%s xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
`

func (f *foreign) description(n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, head+`<rs:md capability="description"/>`+"\n", "urlset")
	for set := range f.w.sets() {
		if place := f.w.place(set, n); place >= 0 {
			fmt.Fprintf(&b, `<url><loc>%sset%d/capabilitylist.xml</loc><rs:md capability="capabilitylist"/></url>`+"\n", Site, place)
		}
	}
	return b.String() + "</urlset>\n"
}

func (f *foreign) capabilities(base string) string {
	var b strings.Builder
	fmt.Fprintf(&b, head+`<rs:ln rel="up" href="%s.well-known/resourcesync"/><rs:md capability="capabilitylist"/>`+"\n", "urlset", Site)
	if !f.w.NoLists {
		fmt.Fprintf(&b, `<url><loc>%sresourcelist.xml</loc><rs:md capability="resourcelist"/></url>`+"\n", base)
	}
	if f.w.Lists != "none" && !f.w.NoLists {
		fmt.Fprintf(&b, `<url><loc>%schangelist.xml</loc><rs:md capability="changelist"/></url>`+"\n", base)
	}
	b.WriteString(f.dumpEntries(base))
	b.WriteString(f.channels(base))
	return b.String() + "</urlset>\n"
}

// snapshot returns the number of entries that the Resource List reflects, and its time.
func (f *foreign) snapshot(n int) (shown int, at time.Time) {
	if !f.w.Published {
		if n > 0 {
			at = f.w.log[n-1].at
		}
		return n, latest(at, f.w.began.Add(f.w.Skew))
	}
	for ; n > 0; n-- {
		if f.w.log[n-1].verb == "publish" {
			return n, f.w.log[n-1].at
		}
	}
	return 0, f.w.began.Add(f.w.Skew)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// members returns the versions that a set has after n entries.
func (f *foreign) members(set, n int) []version {
	has := map[string]version{}
	for _, e := range f.w.log[:n] {
		switch {
		case e.set != set || e.name == "":
		case e.verb == "deleted":
			delete(has, e.name)
		default:
			has[e.name] = e.version
		}
	}
	all := make([]version, 0, len(has))
	for _, v := range has {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b version) int { return strings.Compare(a.name, b.name) })
	f.order(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// order brings n things into the order of the documents.
func (f *foreign) order(n int, swap func(i, j int)) {
	switch f.w.Order {
	case "reverse":
		for i := range n / 2 {
			swap(i, n-1-i)
		}
	case "shuffled":
		f.w.roll("order", n).Shuffle(n, swap)
	}
}

func (f *foreign) resourceList(base string, set int, part string, n int) string {
	shown, at := f.snapshot(n)
	md := `<rs:md capability="resourcelist"`
	if !f.w.NoAt {
		md += ` at="` + f.time(at.Add(f.w.At)) + `"`
	}
	md += "/>\n"
	up := upLink(base)
	if part == "" && f.w.Parts > 0 {
		if f.w.Index == "next" {
			part = "0"
		} else {
			return f.index(up+md, "resourcelist", f.w.Parts, func(i int) string { return fmt.Sprintf("%sresourcelist-%d.xml", base, i) }, func(int) string { return "" })
		}
	}
	number, _ := strconv.Atoi(part)
	var b strings.Builder
	fmt.Fprintf(&b, head, "urlset")
	b.WriteString(up)
	if f.w.Index == "next" && number+1 < f.w.Parts {
		fmt.Fprintf(&b, `<rs:ln rel="next" href="%sresourcelist-%d.xml"/>`, base, number+1)
	}
	b.WriteString(md)
	for _, v := range f.members(set, shown) {
		if f.w.Parts > 0 && f.part(v.name) != number {
			continue
		}
		fmt.Fprintf(&b, "<url><loc>%s</loc>%s<rs:md%s/></url>\n", v.uri(), f.lastmod(v.lastmod), f.facts(&v))
	}
	return b.String() + "</urlset>\n"
}

func (f *foreign) part(name string) int {
	h := fnv.New32a()
	h.Write([]byte(name))
	return int(h.Sum32() % uint32(f.w.Parts))
}

// index returns an index of a capability with parts.
func (f *foreign) index(top, capability string, parts int, loc, times func(int) string) string {
	root, tag := "sitemapindex", "sitemap"
	if f.w.Index == "urlset" {
		root, tag = "urlset", "url"
	}
	var b strings.Builder
	fmt.Fprintf(&b, head, root)
	b.WriteString(top)
	for i := range parts {
		fmt.Fprintf(&b, `<%s><loc>%s</loc><rs:md capability="%s"%s/></%s>`+"\n", tag, loc(i), capability, times(i), tag)
	}
	return b.String() + "</" + root + ">\n"
}

// lastmod returns the element, if there is a time.
func (f *foreign) lastmod(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return "<lastmod>" + f.time(t) + "</lastmod>"
}

// facts returns the attributes of a version.
func (f *foreign) facts(v *version) (s string) {
	if !f.w.NoHash {
		s += ` hash="sha-256:` + v.digest() + `"`
	}
	if !f.w.NoLength {
		s += fmt.Sprintf(` length="%d"`, len(v.content()))
	}
	return s
}

// tick is the unit of the times in documents.
func (p *Params) tick() time.Duration {
	switch p.Times {
	case "second":
		return time.Second
	case "day":
		return 24 * time.Hour
	}
	return time.Microsecond
}

// time returns a time in the form of the documents.
func (f *foreign) time(t time.Time) string {
	layout := "2006-01-02T15:04:05.000000Z"
	switch f.w.Times {
	case "second":
		layout = "2006-01-02T15:04:05Z"
	case "day":
		layout = "2006-01-02"
	}
	return t.UTC().Format(layout)
}
