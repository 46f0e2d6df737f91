package destination_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestAudit finds each kind of difference, and the next Sync repairs them.
func TestAudit(t *testing.T) {
	src := newSource(t, &rshttp.Options{Division: rshttp.Division{PageSize: 10}})
	for i := range 30 {
		src.put(t, fmt.Sprint("f", i), fmt.Sprint("content ", i))
	}
	m := openMirror(t, src.URL, t.TempDir(), nil)
	m.sync(t)
	a, err := m.Audit(t.Context())
	if err != nil || !a.InSync() || a.Listed != 30 || a.Same != 30 {
		t.Errorf("%+v, %v", a, err)
	}

	src.put(t, "f1", "another")
	src.put(t, "new", "text")
	src.remove("f2")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("f3", "damaged")
	write("f4", "content X") // of the same length
	if err := os.Remove(filepath.Join(m.dir, "f5")); err != nil {
		t.Fatal(err)
	}
	src.put(t, "f6", "another")
	src.remove("f7")
	write("f6", "damaged")
	write("f7", "damaged")
	found := func(names ...string) destination.Found {
		f := destination.Found{Count: int64(len(names))}
		for _, name := range names {
			f.URIs = append(f.URIs, src.URL+"/"+name)
		}
		return f
	}
	want := destination.AuditReport{
		Listed: 29, Same: 23, Missing: found("new"), Differs: found("f1"), Extra: found("f2"), Damaged: found("f3", "f4", "f5", "f6", "f7"),
	}
	for i := range 3 {
		if a, err = m.Audit(t.Context()); err != nil || a.InSync() || !reflect.DeepEqual(*a, want) {
			t.Errorf("audit %d: %+v, %v, want %+v", i, a, err, want)
		}
	}
	src.requested("/")
	m.sync(t)
	src.same(t, m.dir)
	if n := src.requested("/f"); n != 5 {
		t.Errorf("%d requests to repair 5 resources", n)
	}
	if a, err = m.Audit(t.Context()); err != nil || !a.InSync() {
		t.Errorf("after the repair: %+v, %v", a, err)
	}
}

// TestAuditLength has entries without a time or hash: only another length is a difference.
func TestAuditLength(t *testing.T) {
	list := func(length string) string {
		return openURLSet + `<rs:md capability="resourcelist"/><url><loc>BASE/a</loc><rs:md length="` + length + `"/></url><url><loc>BASE/d</loc></url></urlset>`
	}
	s, url := newScript(t, withoutChanges(list("1")))
	m := openMirror(t, url, t.TempDir(), nil)
	m.sync(t)
	if a, err := m.Audit(t.Context()); err != nil || !a.InSync() || a.Same != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	s.set(map[string]string{"/rl.xml": list("2"), "/a": "aa"})
	if a, err := m.Audit(t.Context()); err != nil || a.Differs.Count != 1 || a.Same != 1 {
		t.Errorf("after a change: %+v, %v", a, err)
	}
	m.sync(t)
	if a, err := m.Audit(t.Context()); err != nil || !a.InSync() {
		t.Errorf("after the next Sync: %+v, %v", a, err)
	}
}

// TestAuditSymlink: a link that leads out of the copy is not followed, even to the same
// content.
func TestAuditSymlink(t *testing.T) {
	src := newSource(t, nil)
	src.put(t, "a/b", "text")
	m := openMirror(t, src.URL, t.TempDir(), nil)
	m.sync(t)
	outside := filepath.Join(t.TempDir(), "a")
	if err := os.Rename(filepath.Join(m.dir, "a"), outside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(m.dir, "a")); err != nil {
		needs.Skip(t, err) // on Windows only some users may
	}
	if a, err := m.Audit(t.Context()); err == nil && a.InSync() {
		t.Error("read through a symbolic link")
	}
}

// TestAuditUnlisted: the Resource List has lost a resource, and no Change List deletes it.
func TestAuditUnlisted(t *testing.T) {
	s, url := newScript(t, fullSource)
	m := openMirror(t, url, t.TempDir(), &destination.Options{MaxDelete: 1})
	m.sync(t)
	s.set(map[string]string{"/rl.xml": openURLSet + `<rs:ln rel="up" href="BASE/cl.xml"/><rs:md capability="resourcelist" at="2013-01-08T09:00:00Z"/>
		<url><loc>/a</loc><lastmod>2013-01-02T13:00:00Z</lastmod><rs:md hash="md5:0CC175B9C0F1B6A831C399E269772661" length="1"/></url></urlset>`})
	if a, err := m.Audit(t.Context()); err != nil || a.Extra.Count != 1 || a.Same != 1 {
		t.Errorf("%+v, %v", a, err)
	}
	if r := m.sync(t); r.Deleted != 1 {
		t.Errorf("the next Sync: %+v", r)
	}
	if a, err := m.Audit(t.Context()); err != nil || !a.InSync() {
		t.Errorf("in the end: %+v, %v", a, err)
	}
}
