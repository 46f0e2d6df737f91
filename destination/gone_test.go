package destination_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync/destination"
)

// described returns a Source Description of Capability Lists.
func described(names ...string) string {
	text := openURLSet + `<rs:md capability="description"/>`
	for _, name := range names {
		text += `<url><loc>BASE/` + name + `</loc><rs:md capability="capabilitylist"/></url>`
	}
	return text + `</urlset>`
}

// capabilitiesOf returns a Capability List with a Resource List.
func capabilitiesOf(list string) string {
	return openURLSet + `<rs:md capability="capabilitylist"/><url><loc>BASE/` + list + `</loc><rs:md capability="resourcelist"/></url></urlset>`
}

// contents returns resources whose content is their name.
func contents(names ...string) map[string]string {
	out := make(map[string]string)
	for _, name := range names {
		out["/"+name] = name
	}
	return out
}

// movedSource is a Source with two sets, of which the first one has moved to another URI after
// twoSets, where two of its resources are not listed.
var (
	twoSets = func() map[string]string {
		pages := contents("a", "b", "c", "d", "x")
		maps.Copy(pages, map[string]string{
			"/.well-known/resourcesync": described("cl.xml", "other.xml"),
			"/cl.xml":                   capabilitiesOf("rl.xml"), "/rl.xml": listOf("a", "b", "c", "d"),
			"/other.xml": capabilitiesOf("others.xml"), "/others.xml": listOf("x"),
		})
		return pages
	}()
	moved = map[string]string{
		"/.well-known/resourcesync": described("cl2.xml", "other.xml"),
		"/cl2.xml":                  capabilitiesOf("rl2.xml"), "/rl2.xml": listOf("a", "b"),
	}
)

// has checks the names of the files of a copy.
func (m *mirror) has(t *testing.T, want ...string) {
	t.Helper()
	if got := slices.Sorted(maps.Keys(files(t, m.dir))); !slices.Equal(got, want) {
		t.Errorf("the copy has %v, want %v", got, want)
	}
}

// contentRequests returns the requests for resources since the last call.
func (v *virtual) contentRequests() []string {
	return slices.DeleteFunc(v.requested(), func(path string) bool { return len(path) != 2 })
}

// TestMovedSet has a Capability List that moves. Resources that its new lists lack are deleted
// after a confirmation, and nothing is requested again.
func TestMovedSet(t *testing.T) {
	for name, test := range map[string]struct {
		old    int // the status of the old Capability List
		shared bool
		want   []string
	}{
		"gone":                 {404, false, []string{"a", "b", "x"}},
		"gone, 410":            {410, false, []string{"a", "b", "x"}},
		"unlinked":             {200, false, []string{"a", "b", "x"}},
		"another set has one":  {404, true, []string{"a", "b", "d", "x"}},
		"fails":                {500, false, []string{"a", "b", "c", "d", "x"}},
		"requires credentials": {403, false, []string{"a", "b", "c", "d", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVirtual(twoSets)
				dir := t.TempDir()
				m := v.open(t, dir, destination.Options{})
				defer func() { m.close() }()
				if test.shared {
					v.script.set(map[string]string{"/others.xml": listOf("x", "d")})
				}
				m.sync(t)
				m.has(t, "a", "b", "c", "d", "x")
				v.requested()
				v.script.set(moved)
				v.answer = func(w http.ResponseWriter, path string) bool {
					if path != "/cl.xml" || test.old == 200 {
						return false
					}
					w.WriteHeader(test.old)
					return true
				}
				left := int64(2)
				if test.shared {
					left = 1
				}
				confirm := func(o destination.Options, held bool, wait time.Duration) {
					t.Helper()
					m.close()
					m = v.open(t, dir, o)
					r := m.sync(t)
					if len(r.Gone) != 1 || r.Gone[0].URI != "http://example.org/cl.xml" || r.Gone[0].Resources != left || r.Gone[0].Held != held || held != (r.Held == left) {
						t.Fatalf("the run reports %+v", r)
					}
					if until := r.Gone[0].After; wait > 0 && !until.Equal(time.Now().Add(wait)) {
						t.Errorf("the next run can decide at %v", until)
					}
					a, err := m.Audit(t.Context())
					if err != nil || a.Extra.Count != left || len(a.Gone) != 1 || a.Gone[0].Resources != left {
						t.Errorf("the audit reports %+v, %v", a, err)
					}
					m.has(t, "a", "b", "c", "d", "x")
					m.lists(t, 5, r.Held)
				}
				all := destination.Options{MaxDelete: 1}
				confirm(all, false, time.Hour)
				time.Sleep(59 * time.Minute)
				confirm(all, false, time.Minute)
				time.Sleep(time.Minute)
				readable := test.old != 500 && test.old != 403
				confirm(destination.Options{}, readable, 0)
				confirm(destination.Options{MaxDelete: 0.99}, readable, 0)
				if !readable {
					confirm(all, false, 0)
					time.Sleep(48 * time.Hour)
					confirm(all, false, 0)
				} else {
					m.close()
					m = v.open(t, dir, all)
					if r := m.sync(t); r.Deleted != left || len(r.Gone) > 0 || r.Held > 0 {
						t.Errorf("the confirmed run reports %+v", r)
					}
					if a, err := m.Audit(t.Context()); err != nil || !a.InSync() || len(a.Gone) > 0 {
						t.Errorf("the audit reports %+v, %v", a, err)
					}
				}
				m.has(t, test.want...)
				if got := v.contentRequests(); len(got) > 0 {
					t.Errorf("%v were requested again", got)
				}
			})
		})
	}
}

// TestSetComesBack has a set that disappears, loses a resource to another set that deletes it, and
// comes back.
func TestSetComesBack(t *testing.T) {
	for _, away := range []time.Duration{time.Minute, 3 * time.Hour} {
		t.Run(fmt.Sprint(away), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				v := newVirtual(twoSets)
				m := v.open(t, t.TempDir(), destination.Options{MaxDelete: 0.9})
				defer m.close()
				m.sync(t)
				v.requested()
				v.script.set(map[string]string{"/.well-known/resourcesync": described("other.xml"), "/others.xml": listOf("x", "c")})
				if r := m.sync(t); len(r.Gone) != 1 || r.Gone[0].Resources != 3 {
					t.Errorf("without the set: %+v", r)
				}
				time.Sleep(away)
				v.script.set(map[string]string{"/others.xml": listOf("x")})
				m.sync(t)
				v.script.set(map[string]string{"/.well-known/resourcesync": described("cl.xml", "other.xml")})
				if r := m.sync(t); len(r.Gone) > 0 || r.Held > 0 || r.Failed > 0 {
					t.Errorf("with the set again: %+v", r)
				}
				m.has(t, "a", "b", "c", "d", "x")
				if a, err := m.Audit(t.Context()); err != nil || !a.InSync() {
					t.Errorf("the audit reports %+v, %v", a, err)
				}
				for _, name := range v.contentRequests() {
					if name != "/c" {
						t.Errorf("%s was requested again", name)
					}
				}

				// It must be missing for an hour again.
				v.script.set(map[string]string{"/.well-known/resourcesync": described("other.xml")})
				if r := m.sync(t); len(r.Gone) != 1 || r.Gone[0].Held || !r.Gone[0].After.Equal(time.Now().Add(time.Hour)) {
					t.Errorf("away again: %+v", r)
				}
			})
		})
	}
}

// TestDescriptionGone has a Source Description that is missing for a while, and a robots.txt that
// names another list: no set is gone.
func TestDescriptionGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := newVirtual(twoSets)
		v.script.set(map[string]string{"/robots.txt": "Sitemap: http://example.org/rl2.xml\n", "/rl2.xml": listOf("a")})
		m := v.open(t, t.TempDir(), destination.Options{MaxDelete: 1})
		defer m.close()
		m.sync(t)
		v.answer = func(w http.ResponseWriter, path string) bool {
			if path == "/.well-known/resourcesync" {
				w.WriteHeader(404)
				return true
			}
			return false
		}
		for range 3 {
			if r := m.sync(t); len(r.Gone) != 2 || r.Gone[0].Held || r.Deleted > 0 {
				t.Errorf("without a Source Description: %+v", r)
			}
			time.Sleep(2 * time.Hour)
		}
		m.has(t, "a", "b", "c", "d", "x")
		v.answer = nil
		m.sync(t)
		if a, err := m.Audit(t.Context()); err != nil || a.Missing.Count+a.Differs.Count+a.Damaged.Count > 0 {
			t.Errorf("the audit reports %+v, %v", a, err)
		}
	})
}
