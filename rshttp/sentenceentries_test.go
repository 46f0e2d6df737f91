package rshttp_test

import (
	"crypto/sha256"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
)

// Entries.

func entryElements() shown {
	return everywhere(func(d *readDocument) bool {
		name, other := "url", "sitemap"
		if d.XMLName.Local == "sitemapindex" {
			name, other = other, name
		}
		return len(d.all(name)) > 0 && len(d.all(other)) == 0
	}, allKinds...)
}

func noAttributes(kinds ...string) shown {
	return each(func(e *element) bool { return len(e.Attrs) == 0 }, kinds...)
}

func everyLoc(kinds ...string) shown {
	return each(func(e *element) bool {
		u, err := url.Parse(e.loc())
		return err == nil && u.IsAbs() && len(e.all("loc")) == 1
	}, kinds...)
}

func oneMDEach() shown {
	return each(func(e *element) bool { return len(e.all("rs:md")) <= 1 }, allKinds...)
}

func entryIs(attr, value string, kinds ...string) shown {
	return each(func(e *element) bool { return e.md().attr(attr) == value }, kinds...)
}

func entryNot(attr string, kinds ...string) shown {
	return each(func(e *element) bool { return e.md().attr(attr) == "" }, kinds...)
}

func everyMD(attr string, kinds ...string) shown {
	return each(func(e *element) bool { return e.md().attr(attr) != "" }, kinds...)
}

func someMD(attr string, kinds ...string) shown {
	return some(func(e *element) bool { return e.md().attr(attr) != "" }, kinds...)
}

func someChild(name string, kinds ...string) shown {
	return some(func(e *element) bool { return e.child(name).Text != "" }, kinds...)
}

func noChild(name string, kinds ...string) shown {
	return each(func(e *element) bool { return len(e.all(name)) == 0 }, kinds...)
}

func changefreq(value string) shown {
	return some(func(e *element) bool { return e.child("changefreq").Text == value }, rl)
}

func entryLink(rel string, kinds ...string) shown {
	return each(func(e *element) bool { return len(e.link(rel)) == 1 }, kinds...)
}

func changes() shown {
	return each(func(e *element) bool {
		return slices.Contains([]string{"created", "updated", "deleted"}, e.md().attr("change"))
	}, chl, cdm)
}

func typed() shown {
	return each(func(e *element) bool { return e.md().attr("change") == "deleted" || e.md().attr("type") != "" }, cdm)
}

func types() shown {
	return each(func(e *element) bool {
		media, _, err := mime.ParseMediaType(e.md().attr("type"))
		return err == nil && media == "text/plain"
	}, rl, rdm)
}

func encoding() shown {
	return some(func(e *element) bool { return e.md().attr("encoding") == "gzip" && strings.HasSuffix(e.loc(), "a.xml") }, rl, rdm)
}

func slashes() shown {
	return each(func(e *element) bool {
		path := e.md().attr("path")
		return e.md().attr("change") == "deleted" && path == "" || strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//")
	}, rdm, cdm)
}

// lastmods wants the time that the provider has stated, or the time of the deletion.
func lastmods() shown {
	want := newYear.Format(time.RFC3339)
	return each(func(e *element) bool {
		return datetime(e.child("lastmod").Text).Equal(datetime(want)) || e.md().attr("change") == "deleted"
	}, rl, rdm, chl, cdm)
}

// lengths wants the lengths of the contents.
func lengths() shown {
	return content(func(e *element) string { return e.md().attr("length") }, func(b string) string { return strconv.Itoa(len(b)) })
}

// hashes wants SHA-256 digests of the contents.
func hashes() shown {
	return content(func(e *element) string { return e.md().attr("hash") }, func(b string) string {
		return fmt.Sprintf("sha-256:%x", sha256.Sum256([]byte(b)))
	})
}

// content compares what entries say with the contents of resources and of files in packages, and
// wants all resources to be listed.
func content(says func(*element) string, is func(content string) string) shown {
	return func(t *testing.T, p *published) {
		listed := 0
		for _, d := range p.of(t, rl, rdm, cdm) {
			for _, e := range d.entries() {
				content, exists := d.files[e.md().attr("path")]
				if d.kind == rl {
					var b []byte
					b, exists = p.contents[e.loc()]
					content = string(b)
					listed++
				}
				if got := says(e); e.md().attr("change") != "deleted" && (!exists || got != is(content)) {
					t.Errorf("%s: %s is %q, exists: %t", d.uri, e.loc(), got, exists)
				}
			}
		}
		if listed != len(p.contents) {
			t.Errorf("%d of %d resources are listed", listed, len(p.contents))
		}
	}
}

// Links of entries.

func relatedHas(rel, attr string) shown {
	return relatedBy(rel, func(l *element) bool { return l.attr(attr) != "" })
}

func relatedOnly(rel string) shown {
	return relatedBy(rel, func(l *element) bool { return len(l.Attrs) == 2 })
}

// related wants links of a relation, with an href, and those to mirrors with a priority.
func related(rel string) shown {
	return relatedBy(rel, func(l *element) bool { return strings.Contains(l.attr("href"), "://") })
}

// genericLinks wants no attributes of a representation in links to mirrors and generic URIs.
func genericLinks() shown {
	return func(t *testing.T, p *published) {
		for _, rel := range []string{"duplicate", "canonical", "collection"} {
			relatedBy(rel, func(l *element) bool {
				return l.attr("hash")+l.attr("length")+l.attr("type")+l.attr("encoding")+l.attr("path") == ""
			})(t, p)
		}
	}
}

// relatedBy checks all links of entries with a relation, of which there is one.
func relatedBy(rel string, check func(*element) bool) shown {
	return func(t *testing.T, p *published) {
		found, pri := 0, 0
		for _, d := range p.of(t, rl, rdm, chl, cdm) {
			for _, e := range d.entries() {
				for _, l := range e.all("rs:ln") {
					if l.attr("rel") != rel {
						continue
					}
					if found++; !check(l) || e.loc() == "" || e.loc() == l.attr("href") {
						t.Errorf("%s: %v", e.loc(), l.Attrs)
					}
					if l.attr("pri") != "" {
						pri++
					}
				}
			}
		}
		if found == 0 || rel == "duplicate" && (pri == 0 || found < 2) {
			t.Errorf("%d links of the relation %s, %d with a priority", found, rel, pri)
		}
	}
}

// patches wants links to patches in Change Lists and, with the path of the patch, in manifests.
func patches() shown {
	return func(t *testing.T, p *published) {
		found := make(map[string]int)
		for _, d := range p.all {
			for _, e := range d.entries() {
				for _, l := range e.all("rs:ln") {
					if l.attr("rel") != resourcesync.RelPatch {
						continue
					}
					found[d.kind]++
					hash := fmt.Sprintf("sha-256:%x", sha256.Sum256([]byte("+two")))
					if l.attr("type") != "application/json-patch" || l.attr("hash") != hash || l.attr("length") != "4" {
						t.Errorf("%s: %v", d.uri, l.Attrs)
					}
					if path := l.attr("path"); (d.kind == cdm) != (path != "") || d.kind == cdm && d.files[path] != "+two" {
						t.Errorf("%s: the path of the patch is %q", d.uri, path)
					}
				}
			}
		}
		if len(found) != 2 || found[chl] != 1 || found[cdm] != 1 {
			t.Errorf("links to patches: %v", found)
		}
	}
}

// versions wants links from changes to their versions.
func versions() shown {
	return func(t *testing.T, p *published) {
		found := 0
		for _, d := range p.of(t, chl) {
			for _, e := range d.entries() {
				for _, l := range e.all("rs:ln") {
					if l.attr("rel") != "memento" {
						continue
					}
					found++
					body := p.body(t, l.attr("href"))
					if !isDatetime(l.attr("modified")) || !strings.HasSuffix(e.md().attr("hash"), fmt.Sprintf("%x", sha256.Sum256([]byte(body)))) {
						t.Errorf("%s: %v", e.loc(), l.Attrs)
					}
				}
			}
		}
		if found != 5 {
			t.Errorf("%d links to versions", found)
		}
	}
}
