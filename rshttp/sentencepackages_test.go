package rshttp_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// inZIP wants packages, in ZIP files, to be listed by dumps, each with a manifest of its kind. The
// Source could not be read if one of them had none.
func inZIP() shown {
	return func(t *testing.T, p *published) {
		for dump, manifest := range map[string]string{rd: rdm, cd: cdm} {
			listed := 0
			for _, d := range p.of(t, dump) {
				for _, e := range d.entries() {
					listed++
					if e.md().attr("type") != "application/zip" || p.at(e.loc()).kind != manifest {
						t.Errorf("%s: %v", e.loc(), e.md().Attrs)
					}
				}
			}
			if n := len(p.of(t, manifest)); listed < 3 || n != listed {
				t.Errorf("%d packages, %d manifests", listed, n)
			}
		}
	}
}

// packed wants each file of a package in its manifest, and each path in the package.
func packed() shown {
	return everywhere(func(d *readDocument) bool {
		files := map[string]bool{"/manifest.xml": true}
		for _, e := range d.elements() {
			if path := e.attr("path"); path != "" {
				files[path] = true
			}
		}
		for _, e := range d.entries() {
			if deleted := e.md().attr("change") == "deleted"; deleted != (e.md().attr("path") == "") {
				return false
			}
		}
		return slices.Equal(slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(d.files)))
	}, rdm, cdm)
}

// manifestCopy wants the target of contents to be the manifest of the package.
func manifestCopy(kind string) shown {
	return func(t *testing.T, p *published) {
		for _, d := range p.of(t, kind) {
			for _, e := range d.entries() {
				copies := e.link("contents")
				if len(copies) != 1 || p.body(t, copies[0]) != p.at(e.loc()).files["/manifest.xml"] {
					t.Errorf("%s: contents leads to %q", e.loc(), copies)
				}
			}
		}
	}
}

// dumpIsComplete wants the resources of the Resource List in the Resource Dump.
func dumpIsComplete() shown {
	return func(t *testing.T, p *published) {
		if lists, dumps := p.resources(t, rl), p.resources(t, rdm); !maps.Equal(lists, dumps) || len(lists) != len(p.contents) {
			t.Errorf("%d resources in lists, %d in dumps, of %d", len(lists), len(dumps), len(p.contents))
		}
	}
}

// resources returns the hashes of the resources in documents of a kind, by URI.
func (p *published) resources(t *testing.T, kind string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, d := range p.of(t, kind) {
		for _, e := range d.entries() {
			if _, twice := found[e.loc()]; twice {
				t.Errorf("%s is in several %ss", e.loc(), kind)
			}
			found[e.loc()] = e.md().attr("hash")
		}
	}
	return found
}

func oncePerResource() shown {
	return func(t *testing.T, p *published) {
		if n := len(p.resources(t, rl)); n != len(p.contents) {
			t.Errorf("%d resources of %d", n, len(p.contents))
		}
	}
}

// union wants the parts of an index to have all resources of its set.
func union() shown {
	return func(t *testing.T, p *published) {
		n := 0
		for _, d := range p.of(t, rl) {
			if d.index != nil {
				n += len(d.entries())
			}
		}
		want := 0
		for uri := range p.contents {
			if strings.Contains(uri, "many-") {
				want++
			}
		}
		if n != want {
			t.Errorf("%d resources of %d", n, want)
		}
	}
}

// stateAt wants a Resource List to have the state after all changes until its at.
func stateAt() shown {
	return func(t *testing.T, p *published) {
		for _, list := range p.of(t, rl, rdm) {
			taken := datetime(list.md().attr("at"))
			now := make(map[string]string)
			for _, d := range p.of(t, chl) {
				for _, e := range d.entries() {
					if d.set == list.set && !datetime(e.md().attr("datetime")).After(taken) {
						now[e.loc()] = e.md().attr("hash")
					}
				}
			}
			for _, e := range list.entries() {
				if hash := now[e.loc()]; hash != e.md().attr("hash") {
					t.Errorf("%s at %v: %s, and %s after the changes", e.loc(), taken, e.md().attr("hash"), hash)
				}
			}
			if taken.After(newYear.Add(time.Hour)) || len(now) == 0 {
				t.Errorf("%s: at %v, %d changes", list.uri, taken, len(now))
			}
		}
	}
}

// ordered wants entries in the order of their times.
func ordered(kind string) shown {
	attr := "datetime"
	if kind == chli || kind == cd {
		attr = "from"
	}
	return everywhere(func(d *readDocument) bool {
		last := time.Time{}
		for _, e := range d.entries() {
			at := datetime(e.md().attr(attr))
			if at.IsZero() || at.Before(last) {
				return false
			}
			last = at
		}
		return true
	}, kind)
}

func inInterval(kinds ...string) shown {
	return everywhere(func(d *readDocument) bool {
		from, until := datetime(d.md().attr("from")), datetime(d.md().attr("until"))
		for _, e := range d.entries() {
			if at := datetime(e.md().attr("datetime")); at.IsZero() || at.Before(from) || !until.IsZero() && at.After(until) {
				return false
			}
		}
		return true
	}, kinds...)
}

// inIndex wants an index to state the intervals of its parts, and to begin with the first.
func inIndex(kind string) shown {
	return everywhere(func(d *readDocument) bool {
		return d.md().attr("from") == d.entries()[0].md().attr("from")
	}, kind).and(func(t *testing.T, p *published) {
		for _, d := range p.of(t, kind) {
			closed := 0
			for _, e := range d.entries() {
				part := p.at(e.loc()).md()
				if part.attr("from") != e.md().attr("from") || part.attr("until") != e.md().attr("until") {
					t.Errorf("%s: %v in its index, %v itself", e.loc(), e.md().Attrs, part.Attrs)
				}
				if part.attr("until") != "" {
					closed++
				}
			}
			if closed != len(d.entries())-1 || d.md().attr("until") != "" {
				t.Errorf("%s: %d of %d parts are closed", d.uri, closed, len(d.entries()))
			}
		}
	})
}

// and checks two sentences.
func (s shown) and(other shown) shown {
	return func(t *testing.T, p *published) {
		s(t, p)
		other(t, p)
	}
}

// everyChange wants each change once, also several of the same resource.
func everyChange(kind string) shown {
	return func(t *testing.T, p *published) {
		changes := make(map[string]int)
		for _, d := range p.of(t, kind) {
			for _, e := range d.entries() {
				changes[e.md().attr("change")]++
			}
		}
		// Two sets: 5 and 95 resources were put, 4 and 40 of them new, and one was deleted in each.
		if want := map[string]int{"created": 44, "updated": 56, "deleted": 2}; !maps.Equal(changes, want) {
			t.Errorf("%v", changes)
		}
	}
}

// lastOpen wants a new change to appear in an open list.
func lastOpen() shown {
	return func(t *testing.T, p *published) {
		for _, d := range p.of(t, chl) {
			if d.index == nil && d.md().attr("until") != "" {
				t.Errorf("%s is closed: %v", d.uri, d.md().Attrs)
			}
		}
		more := publish(t)
		more.change(t)
		open := 0
		for _, d := range p.of(t, chl) {
			if d.md().attr("until") != "" {
				continue
			}
			open++
			if now := more.body(t, d.uri); !strings.Contains(now, "later.txt") {
				t.Errorf("%s lacks the change: %s", d.uri, now)
			}
		}
		if open != 2 {
			t.Errorf("%d open lists", open)
		}
	}
}
