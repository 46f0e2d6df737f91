package destination_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
)

// TestAuditChanges audits copies of Sources whose Change List is newer than their Resource List.
func TestAuditChanges(t *testing.T) {
	const from = `from="2013-01-01T00:00:00Z"`
	correct := changesIn(from, "updated a 2013-01-03T10:00:00Z", "deleted b 2013-01-03T11:00:00Z", "created c 2013-01-03T12:00:00Z", "created d 2013-01-03T12:00:01Z", "deleted d 2013-01-03T12:00:02Z")
	for name, test := range map[string]struct {
		pages     map[string]string // when the copy is made
		date      string            // of the answers then
		then      map[string]string // before the audit
		missing   int64
		differs   int64
		extra     int64
		undecided int64
		requests  []string // by the next Sync
		want      map[string]string
	}{
		"correct": {
			pages: map[string]string{"/chl.xml": correct, "/a": "A", "/b": "-", "/d": "-"},
			want:  map[string]string{"a": "A", "c": "c"},
		},
		"changes since the last run": {
			date:    "Thu, 03 Jan 2013 09:30:00 GMT",
			then:    map[string]string{"/chl.xml": correct, "/a": "A", "/b": "-", "/d": "-"},
			missing: 1, differs: 1, extra: 1, requests: []string{"/a", "/c"},
			want: map[string]string{"a": "A", "c": "c"},
		},
		"listed after the copy was made": {
			pages:     map[string]string{"/a": "A"},
			then:      map[string]string{"/chl.xml": changesIn(from, "updated a 2013-01-03T10:00:00Z")},
			undecided: 1, requests: []string{"/a"},
			want: map[string]string{"a": "A", "b": "b"},
		},
		"decided by the last run": {
			pages:    map[string]string{"/chl.xml": changesIn(from, "deleted b 2013-01-03T08:59:59Z", "created c 2013-01-03T08:59:59Z"), "/b": "-"},
			requests: []string{"/b"}, // it has been asked once
			want:     map[string]string{"a": "a", "c": "c"},
		},
		"undecided": {
			then:      map[string]string{"/chl.xml": changesIn(from, "deleted b 2013-01-03T08:59:59Z", "created c 2013-01-03T08:59:59Z"), "/b": "-"},
			undecided: 2, requests: []string{"/b", "/c"},
			want: map[string]string{"a": "a", "c": "c"},
		},
		"without times": {
			pages:     map[string]string{"/chl.xml": changesIn("", "updated a")},
			then:      map[string]string{"/chl.xml": changesIn("", "updated a", "deleted b"), "/b": "-"},
			undecided: 1,
			want:      map[string]string{"a": "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pages := history(test.pages)
			s, url := newDated(t, pages)
			change := func(pages map[string]string) {
				for path, text := range pages {
					if s.pages[path] = text; text == "-" {
						delete(s.pages, path)
					}
				}
			}
			change(test.pages)
			s.date = test.date
			m := openMirror(t, url, t.TempDir(), &destination.Options{MaxDelete: 1})
			if r := m.sync(t); r.Failed != 0 {
				t.Errorf("%+v", r)
			}
			change(test.then)
			s.date = ""
			before := files(t, m.dir)
			s.taken()
			for range 2 {
				a, err := m.Audit(t.Context())
				if err != nil || a.Missing.Count != test.missing || a.Differs.Count != test.differs || a.Extra.Count != test.extra || a.Damaged.Count != 0 || a.Undecided != test.undecided {
					t.Errorf("%+v, %v", a, err)
				}
			}
			if requests, _ := s.taken(); len(requests) > 0 || !maps.Equal(files(t, m.dir), before) {
				t.Errorf("the audits requested %v", requests)
			}
			r := m.sync(t)
			requests, _ := s.taken()
			slices.Sort(requests)
			if r.Failed != 0 || !slices.Equal(requests, test.requests) {
				t.Errorf("the next Sync requests %v, want %v: %+v", requests, test.requests, r)
			}
			if got := files(t, m.dir); !maps.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if a, err := m.Audit(t.Context()); err != nil || !a.InSync() || a.Undecided != 0 {
				t.Errorf("in the end: %+v, %v", a, err)
			}
		})
	}
}
