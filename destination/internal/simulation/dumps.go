package simulation

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A dump is a Resource Dump or a Change Dump of a set of a foreign Source, as of an earlier moment.
type dump struct {
	*foreign
	base string
	set  int
	n    int // entries of the log that it shows
}

// hasDumps reports whether the Source has dumps of "resources" or of "changes".
func (p *Params) hasDumps(of string) bool { return p.Dumps == of || p.Dumps == "both" }

// dumpEntries returns the entries of the dumps in a Capability List.
func (f *foreign) dumpEntries(base string) (s string) {
	for _, of := range []string{"resource", "change"} {
		if f.w.hasDumps(of + "s") {
			s += fmt.Sprintf(`<url><loc>%s%sdump.xml</loc><rs:md capability="%sdump"/></url>`+"\n", base, of, of)
		}
	}
	return s
}

// dumped returns the file of a dump at a moment, or nothing. The file is the dump itself, a
// package, or a copy of its manifest. For example, resourcedump-7-0.zip is the first package of the
// dump that reflects 7 entries of the log.
func (f *foreign) dumped(base string, set int, name string, when time.Time) (text string, modified time.Time) {
	kind, rest, _ := strings.Cut(name, "-")
	of, isDump := strings.CutSuffix(strings.TrimSuffix(kind, ".xml"), "dump")
	if !isDump || !f.w.hasDumps(of+"s") {
		return "", modified
	}
	d := &dump{f, base, set, f.w.position(when.Add(-f.w.DumpLag))}
	file, extension, _ := strings.Cut(rest, ".")
	if rest == "" && of == "resource" {
		return d.resources(), d.at()
	} else if rest == "" {
		return d.changes(), d.at()
	}
	at, part, ok := strings.Cut(file, "-")
	n, err := strconv.Atoi(at)
	i, err2 := strconv.Atoi(part)
	if !ok || err != nil || err2 != nil || n > d.n {
		return "", modified
	}
	d.n = n
	switch {
	case of == "resource" && i < max(f.w.Parts, 1):
		return d.resourcePackage(i, extension), d.at()
	case of == "change" && i < len(f.changeLists(set, n)):
		return d.changePackage(i, extension), d.at()
	}
	return "", modified
}

// at returns the time of a dump.
func (d *dump) at() time.Time {
	if d.n == 0 {
		return d.w.began.Add(d.w.Skew)
	}
	return d.w.log[d.n-1].at
}

// resources returns the Resource Dump.
func (d *dump) resources() string {
	var b strings.Builder
	fmt.Fprintf(&b, head+`%s<rs:md capability="resourcedump"%s/>`+"\n", "urlset", upLink(d.base), d.atAttribute())
	for i := range max(d.w.Parts, 1) {
		d.entry(&b, "resourcedump", i, "")
	}
	return b.String() + "</urlset>\n"
}

func (d *dump) atAttribute() string {
	if d.w.NoAt {
		return ""
	}
	return fmt.Sprintf(` at="%s"`, d.time(d.at().Add(d.w.At)))
}

// changes returns the Change Dump. Its packages are the Change Lists, including the open one.
func (d *dump) changes() string {
	lists := d.changeLists(d.set, d.n)
	var b strings.Builder
	fmt.Fprintf(&b, head+`%s<rs:md capability="changedump" from="%s"/>`+"\n", "urlset", upLink(d.base), d.time(lists[0].from))
	for i := range lists {
		d.entry(&b, "changedump", i, d.interval(d.ended(&lists[i])))
	}
	return b.String() + "</urlset>\n"
}

// ended returns a Change List that ends with its dump.
func (d *dump) ended(l *changeList) *changeList {
	end := *l
	if !l.closed && d.w.Until != "none" {
		end.closed, end.until = true, latest(l.from, d.at())
	}
	return &end
}

// entry writes the entry of a package.
func (d *dump) entry(b *strings.Builder, kind string, i int, interval string) {
	name := fmt.Sprintf("%s%s-%d-%d", d.base, kind, d.n, i)
	contents := ""
	if d.w.Manifests {
		contents = fmt.Sprintf(`<rs:ln rel="contents" href="%s.xml" type="application/xml"/>`, name)
	}
	fmt.Fprintf(b, `<url><loc>%s.zip</loc><rs:md type="application/zip"%s/>%s</url>`+"\n", name, interval, contents)
}

// resourcePackage returns a package of the Resource Dump, or its manifest.
func (d *dump) resourcePackage(i int, extension string) string {
	var manifest strings.Builder
	fmt.Fprintf(&manifest, head+`<rs:md capability="resourcedump-manifest"%s/>`+"\n", "urlset", d.atAttribute())
	var all []version
	for _, v := range d.members(d.set, d.n) {
		if d.w.Parts > 0 && d.part(v.name) != i {
			continue
		}
		fmt.Fprintf(&manifest, `<url><loc>%s</loc>%s<rs:md%s path="/%d"/></url>`+"\n", v.uri(), d.lastmod(v.lastmod), d.facts(&v), len(all))
		all = append(all, v)
	}
	return packed(d.w.present(manifest.String()+"</urlset>\n"), extension, all)
}

// changePackage returns a package of the Change Dump, or its manifest.
func (d *dump) changePackage(i int, extension string) string {
	l := d.ended(&d.changeLists(d.set, d.n)[i])
	manifest, all := d.changesDocument("", "changedump-manifest", l, func(i int) string { return fmt.Sprintf(` path="/%d"`, i) })
	return packed(d.w.present(manifest), extension, all)
}

// packed returns a package with its manifest, or the manifest.
func packed(manifest, extension string, all []version) string {
	if extension == "xml" {
		return manifest
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	file, _ := z.CreateHeader(&zip.FileHeader{Name: "manifest.xml"})
	file.Write([]byte(manifest))
	for i, v := range all {
		file, _ := z.CreateHeader(&zip.FileHeader{Name: strconv.Itoa(i)})
		file.Write(v.content())
	}
	z.Close()
	return b.String()
}

// inPackage reports whether a package has a version.
func (w *World) inPackage(name string, v version) bool {
	folder, file, _ := strings.Cut(name, "/")
	set, err := strconv.Atoi(strings.TrimPrefix(folder, "set"))
	if err != nil || !strings.HasSuffix(file, ".zip") {
		return false
	}
	text := func(file string) string {
		text, _ := (&foreign{w}).dumped(Site+folder+"/", set%w.sets(), file, time.Now())
		return text
	}
	return strings.Contains(text(strings.TrimSuffix(file, "zip")+"xml"), w.present(v.uri())+"<") && strings.Contains(text(file), string(v.content()))
}
