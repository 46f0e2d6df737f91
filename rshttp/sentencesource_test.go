package rshttp_test

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// The kinds of documents: their capability, and whether they are an index.
const (
	sd   = "description"
	cl   = "capabilitylist"
	rl   = "resourcelist"
	rli  = "resourcelist index"
	rd   = "resourcedump"
	rdi  = "resourcedump index"
	rdm  = "resourcedump-manifest"
	chl  = "changelist"
	chli = "changelist index"
	cd   = "changedump"
	cdi  = "changedump index"
	cdm  = "changedump-manifest"
)

var allKinds = []string{sd, cl, rl, rli, rd, rdi, rdm, chl, chli, cd, cdi, cdm}

// An element is an element of the XML of a document.
type element struct {
	XMLName  xml.Name
	Attrs    []xml.Attr `xml:",any,attr"`
	Text     string     `xml:",chardata"`
	Children []*element `xml:",any"`
}

const (
	sitemapNamespace = "http://www.sitemaps.org/schemas/sitemap/0.9"
	termsNamespace   = "http://www.openarchives.org/rs/terms/"
)

// attr returns an attribute without namespace, or "".
func (e *element) attr(name string) string {
	for _, a := range e.Attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// all returns the children with a name, in the namespace of ResourceSync if it begins with
// "rs:".
func (e *element) all(name string) (found []*element) {
	local, rs := strings.CutPrefix(name, "rs:")
	for _, c := range e.Children {
		if c.XMLName.Local == local && (c.XMLName.Space == termsNamespace) == rs {
			found = append(found, c)
		}
	}
	return found
}

// child returns the first child with a name, or an empty element.
func (e *element) child(name string) *element {
	if found := e.all(name); len(found) > 0 {
		return found[0]
	}
	return &element{}
}

func (e *element) md() *element { return e.child("rs:md") }
func (e *element) loc() string  { return strings.TrimSpace(e.child("loc").Text) }

// link returns the targets of the links with a relation.
func (e *element) link(rel string) (targets []string) {
	for _, l := range e.all("rs:ln") {
		if l.attr("rel") == rel {
			targets = append(targets, l.attr("href"))
		}
	}
	return targets
}

// A read document has been read over HTTP, or is the manifest of a package.
type readDocument struct {
	uri  string
	kind string
	set  string // URI of the Capability List, for documents below it
	*element
	index *readDocument     // that lists it
	files map[string]string // of the package whose manifest it is, by path
}

func (d *readDocument) entries() []*element {
	return append(d.all("url"), d.all("sitemap")...)
}

// A published Source has all its documents.
type published struct {
	src      http.Handler
	all      []*readDocument
	contents map[string][]byte // of the resources that exist, by URI
	shelves  []*shelf
}

// change adds a resource to each set.
func (p *published) change(t *testing.T) {
	t.Helper()
	for _, s := range p.shelves {
		s.put("later.txt", []byte("later"))
	}
}

// of returns the documents of some kinds. Each kind must have one.
func (p *published) of(t *testing.T, kinds ...string) (found []*readDocument) {
	t.Helper()
	for _, kind := range kinds {
		n := len(found)
		for _, d := range p.all {
			if d.kind == kind {
				found = append(found, d)
			}
		}
		if len(found) == n {
			t.Errorf("the Source has no %s", kind)
		}
	}
	return found
}

// at returns the document at a URI, or nil.
func (p *published) at(uri string) *readDocument {
	if i := slices.IndexFunc(p.all, func(d *readDocument) bool { return d.uri == uri }); i >= 0 {
		return p.all[i]
	}
	return nil
}

// body requests a URI of the Source.
func (p *published) body(t *testing.T, uri string) string {
	t.Helper()
	res := get(t, p.src, strings.TrimPrefix(uri, "https://example.org"))
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", uri, res.Status)
	}
	return text(t, res)
}

// parse adds a document.
func (p *published) parse(t *testing.T, uri, text, set string) *readDocument {
	t.Helper()
	d := &readDocument{uri: uri, set: set, element: new(element)}
	if err := xml.Unmarshal([]byte(text), d.element); err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	if d.kind = d.md().attr("capability"); d.XMLName.Local == "sitemapindex" {
		d.kind += " index"
	}
	p.all = append(p.all, d)
	return d
}

// read reads a document and those below it.
func (p *published) read(t *testing.T, uri, set string) *readDocument {
	t.Helper()
	d := p.parse(t, uri, p.body(t, uri), set)
	if d.kind == cl {
		set = uri
	}
	for _, e := range d.entries() {
		switch {
		case d.kind == rd || d.kind == cd:
			p.unzip(t, e.loc(), set)
		case d.kind == sd || d.kind == cl || strings.HasSuffix(d.kind, " index"):
			below := p.read(t, e.loc(), set)
			if strings.HasSuffix(d.kind, " index") {
				below.index = d
			}
		}
	}
	return d
}

// unzip reads the manifest of a package and its files.
func (p *published) unzip(t *testing.T, uri, set string) {
	t.Helper()
	body := p.body(t, uri)
	z, err := zip.NewReader(bytes.NewReader([]byte(body)), int64(len(body)))
	if err != nil {
		t.Fatalf("%s: %v", uri, err)
	}
	files := make(map[string]string)
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files["/"+f.Name] = string(content)
	}
	if files["/manifest.xml"] == "" {
		t.Fatalf("%s has no manifest", uri)
	}
	p.parse(t, uri, files["/manifest.xml"], set).files = files
}

// publish returns a Source with two sets. One has an index of each kind, the other one document
// of each kind, and resources with all links of section 14.
func publish(t *testing.T) *published {
	t.Helper()
	few, many := newShelf(t), newShelf(t)
	mended := mended{history{few}, make(map[string]string)}
	put := func(key, content string, change func(*resourcesync.Resource)) {
		r := describe(key, []byte(content))
		few.swap(key, []byte(content))
		few.keep(r.Hashes[0], []byte(content))
		if change(&r); few.Put(t.Context(), r) != nil {
			t.Fatal(key)
		}
	}
	const about = "https://example.org/"
	link := func(rel, href string) resourcesync.Link { return resourcesync.Link{Rel: rel, Href: about + href} }
	put("a.txt", "one", func(r *resourcesync.Resource) {
		r.ChangeFreq = "always"
		first, second := link(resourcesync.RelDuplicate, "mirror/1"), link(resourcesync.RelDuplicate, "mirror/2")
		first.Pri, second.Pri = 1, 2
		other := link(resourcesync.RelAlternate, "a.pdf")
		other.Type = "application/pdf"
		r.Links = []resourcesync.Link{first, second, other, link(resourcesync.RelCanonical, "a"), link(resourcesync.RelCollection, "all"),
			link(resourcesync.RelTimeGate, "timegate/a.txt"), link(resourcesync.RelTimeMap, "timemap/a.txt"), link(resourcesync.RelVia, "original")}
	})
	put("a.xml", "<a/>", func(r *resourcesync.Resource) {
		r.ChangeFreq, r.Encoding = "never", "gzip"
		r.Links = []resourcesync.Link{link(resourcesync.RelDescribes, "a.txt"), {Rel: resourcesync.RelProfile, Href: "http://purl.org/dc/terms/"}}
	})
	put("a.txt", "two", func(r *resourcesync.Resource) {
		patch := patchTo(about+"patch", "+two")
		mended.patches[patch.Href] = "+two"
		r.Links = []resourcesync.Link{patch, link(resourcesync.RelDescribedBy, "a.xml")}
	})
	put("b.txt", "three", func(r *resourcesync.Resource) {
		first := link(resourcesync.RelDuplicate, "mirror/1")
		first.Pri = 1
		other := link(resourcesync.RelAlternate, "b.pdf")
		other.Type = "application/pdf"
		r.ChangeFreq = "always"
		r.Links = []resourcesync.Link{first, link(resourcesync.RelDuplicate, "mirror/2"), other, link(resourcesync.RelCanonical, "b")}
	})
	few.put("c.txt", []byte("gone"))
	if err := few.Delete(t.Context(), "c.txt"); err != nil {
		t.Error(err)
	}
	few.swap("c.txt", nil)
	for i := range 95 {
		many.put(fmt.Sprintf("many-%03d.txt", i%40), noise(uint32(i), 300))
	}
	if err := many.Delete(t.Context(), "many-007.txt"); err != nil {
		t.Error(err)
	}
	many.swap("many-007.txt", nil)
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10, PackageSize: 300}, DescribedBy: about + "about"},
		rshttp.Set{Name: "few", Provider: mended, DescribedBy: about + "about/few", Memento: true},
		rshttp.Set{Name: "many", Provider: history{many}, DescribedBy: about + "about/many"})
	seal(t, few.Set)
	seal(t, many.Set)
	p := &published{src: src, contents: make(map[string][]byte), shelves: []*shelf{few, many}}
	for _, s := range []*shelf{few, many} {
		for key, content := range s.content {
			if content != nil {
				p.contents[describe(key, nil).URI] = content
			}
		}
	}
	p.read(t, "https://example.org/.well-known/resourcesync", "")
	return p
}
