package static

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore"
	"github.com/resourcesync-go/resourcesync/adapters/sqlstore/sqlitestore"
	"github.com/resourcesync-go/resourcesync/scan"
)

const origin = "https://example.org"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A site is a stored set whose documents are written to a folder.
type site struct {
	t       testing.TB
	set     scan.Stored
	out     string
	options SourceOptions
	dumps   bool
}

// newSite returns a site with a set in SQLite.
func newSite(t testing.TB) *site {
	t.Helper()
	s := newSiteOf(t, nil)
	s.open(&sqlstore.Options{Window: time.Millisecond}, nil)
	return s
}

// newSiteOf returns a site with another set.
func newSiteOf(t testing.TB, set scan.Stored) *site {
	t.Helper()
	return &site{t: t, set: set, out: filepath.Join(t.TempDir(), "out"), options: SourceOptions{Division: Division{PageSize: 10, PackageSize: 500, PackageEvery: time.Millisecond}}}
}

// open gives the site a new set.
func (s *site) open(o *sqlstore.Options, of *scan.SetOptions) {
	s.t.Helper()
	store, err := sqlitestore.OpenFile(s.t.Context(), filepath.Join(s.t.TempDir(), "state.db"), o)
	must(s.t, err)
	s.t.Cleanup(func() { store.Close() })
	s.set, err = store.Set(s.t.Context(), "set", of)
	must(s.t, err)
}

// contents has the content of each version of a resource: its title.
type contents struct{}

func (contents) Open(_ context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(r.Type)), nil
}

func (contents) OpenChange(_ context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(c.Resource.Type)), nil
}

// put creates or updates resources with keys from first to last.
func (s *site) put(first, last int, text string) {
	s.t.Helper()
	var all []resourcesync.Resource
	for i := first; i <= last; i++ {
		key := fmt.Sprintf("%04d", i)
		all = append(all, resourcesync.Resource{Key: key, URI: origin + "/papers/" + key, Type: "text/" + text, Length: resourcesync.Bytes(int64(len("text/" + text)))})
	}
	must(s.t, s.set.Put(s.t.Context(), all...))
}

func (s *site) delete(first, last int) {
	s.t.Helper()
	var keys []string
	for i := first; i <= last; i++ {
		keys = append(keys, fmt.Sprintf("%04d", i))
	}
	must(s.t, s.set.Delete(s.t.Context(), keys...))
}

// source returns the documents in the state of a new process.
func (s *site) source() *Source {
	s.t.Helper()
	set := Set{Name: "papers", Provider: s.set}
	if s.dumps {
		set.Opener, set.ChangeOpener = contents{}, contents{}
	}
	src, err := New(origin+"/rs/", []Set{set}, &s.options)
	must(s.t, err)
	return src
}

// write brings the folder up to date.
func (s *site) write(o Options) Report {
	s.t.Helper()
	report, err := Write(s.t.Context(), s.out, s.source(), &o)
	must(s.t, err)
	return report
}

// check holds the folder to be complete: it lists the resources, and it has no files that
// nothing leads to, apart from gone ones.
func (s *site) check(resources int, gone int) {
	s.t.Helper()
	paths, listed, err := newCrawler(s.out).crawl()
	if err != nil {
		s.t.Fatal(err)
	}
	if listed != resources {
		s.t.Errorf("%d resources are listed, want %d", listed, resources)
	}
	var others []string
	for name := range s.files() {
		if !paths[strings.TrimSuffix(name, gz)] && !strings.HasPrefix(filepath.Base(name), ".static.") && !strings.HasPrefix(name, "rs/papers/sitemap") {
			others = append(others, name)
		}
	}
	if len(others) != gone {
		s.t.Errorf("nothing leads to %d files, want %d: %q", len(others), gone, others)
	}
}

// files returns the files and folders in the folder, with what identifies their state.
func (s *site) files() map[string]string {
	s.t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(s.out, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.out, path)
		found[filepath.ToSlash(name)] = fmt.Sprint(info.Size(), info.ModTime())
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.t.Fatal(err)
	}
	return found
}

// step changes the set in a way that moves, adds or removes documents.
var steps = []struct {
	name      string
	resources int
	change    func(s *site)
}{
	{"one page", 5, func(s *site) { s.put(1, 5, "first") }},
	{"one change", 5, func(s *site) { s.put(3, 3, "second") }},
	{"index", 60, func(s *site) { s.put(6, 60, "first") }},
	{"a change in a page", 60, func(s *site) { s.put(33, 33, "second") }},
	{"a page is divided", 85, func(s *site) { s.put(1000, 1024, "first") }},
	{"pages are joined", 40, func(s *site) { s.delete(16, 60) }},
	{"one page again", 4, func(s *site) { s.delete(1000, 1024); s.delete(5, 15) }},
}

// TestEveryMoment holds that after each change of a file every link that a Destination can
// find leads to a complete document.
func TestEveryMoment(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dumps, s.options.PlainSitemaps = true, true
	c := newCrawler(s.out)
	for _, step := range steps {
		step.change(s)
		moments := 0
		o := Options{Gzip: true, Grace: -1, DumpEvery: -1, changed: func() {
			moments++
			if _, _, err := c.crawl(); err != nil && !t.Failed() {
				t.Errorf("%s, moment %d: %v", step.name, moments, err)
			}
		}}
		s.write(o)
		if moments == 0 {
			t.Errorf("%s: nothing changed", step.name)
		}
		s.check(step.resources, 0)
	}
}

// errKilled is what a test panics with in the place of a kill.
var errKilled = errors.New("killed")

// killedAfter writes, and stops after n changes of files. It reports whether there were as
// many.
func (s *site) killedAfter(n int, o Options) (killed bool) {
	s.t.Helper()
	o.changed = func() {
		if n--; n == 0 {
			panic(errKilled)
		}
	}
	defer func() {
		if e := recover(); e != nil && e != errKilled {
			panic(e)
		} else {
			killed = e != nil
		}
	}()
	s.write(o)
	return false
}

// TestKilled holds that a Write continues after one that was killed at any moment, some of
// which are tried each time.
func TestKilled(t *testing.T) {
	t.Parallel()
	o := Options{Grace: -1, DumpEvery: -1}
	s := newSite(t)
	s.dumps = true
	c := newCrawler(s.out)
	for _, step := range steps {
		step.change(s)
		for n := 1; s.killedAfter(n, o); n += 1 + rand.N(2*n) {
			if _, _, err := c.crawl(); err != nil {
				t.Fatalf("%s, killed after %d changes: %v", step.name, n, err)
			}
		}
		s.check(step.resources, 0)
		if again := s.write(o); len(again.Written)+len(again.Removed) != 0 {
			t.Errorf("%s: the next Write has changed %q and %q", step.name, again.Written, again.Removed)
		}
	}
}

// TestKilledFirst holds that the parts of a Write that was killed are removed although the set has no
// parts any more.
func TestKilledFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.put(1, 60, "first")
	if !s.killedAfter(7, Options{}) {
		t.Fatal("not killed")
	}
	s.delete(6, 60)
	s.open(nil, nil) // one Change List
	s.put(1, 5, "first")
	s.write(Options{Grace: -1})
	s.check(5, 0)
}

// TestUnchanged holds that a Write without changes touches nothing, and renders nothing.
func TestUnchanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.dumps, s.options.PlainSitemaps = true, true
	s.put(1, 60, "first")
	first := s.write(Options{Gzip: true})
	if first.Documents == 0 || len(first.Written) < first.Documents {
		t.Fatalf("%+v", first)
	}
	before := s.files()
	folder, err := os.Stat(filepath.Join(s.out, "rs", "papers"))
	must(t, err)
	again := s.write(Options{Gzip: true})
	if len(again.Written)+len(again.Removed) != 0 || again.Documents != first.Documents {
		t.Errorf("%+v", again)
	}
	if now := s.files(); !maps.Equal(before, now) {
		t.Errorf("files have changed:\n%v\n%v", before, now)
	}
	if now, err := os.Stat(filepath.Join(s.out, "rs", "papers")); err != nil || !now.ModTime().Equal(folder.ModTime()) {
		t.Errorf("a folder has changed: %v", err)
	}
}

// TestOneChange holds that a change replaces four files at most, and neither closed lists nor
// other pages.
func TestOneChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.open(&sqlstore.Options{Window: 240 * time.Hour}, nil)
	s.put(1, 205, "first")
	s.write(Options{})
	s.put(42, 42, "second")
	report := s.write(Options{})
	if len(report.Written) != 4 || len(report.Removed) > 0 {
		t.Errorf("written: %q, removed: %q", report.Written, report.Removed)
	}
	for _, name := range []string{"resourcelist.xml", "changelist/recent.xml"} {
		if !slices.Contains(report.Written, "rs/papers/"+name) {
			t.Errorf("%s is not among the written files: %q", name, report.Written)
		}
	}
	s.check(205, 0)
}

// TestNewChangeList holds that a change that begins a Change List writes that one, and replaces
// five files: those of any other change, the list that ends, and the index. Lists that have
// ended before stay as they are.
func TestNewChangeList(t *testing.T) {
	t.Parallel()
	s := newSite(t) // each change is in a Change List of its own
	s.put(1, 205, "first")
	s.write(Options{})
	var open string
	for i := range 4 {
		time.Sleep(5 * time.Millisecond)
		s.put(42, 42, fmt.Sprint("version-", i))
		before := s.files()
		report := s.write(Options{})
		kinds := make(map[string]int)
		begun := ""
		for _, name := range report.Written {
			name = strings.TrimPrefix(name, "rs/papers/")
			_, old := before["rs/papers/"+name]
			switch folder, _ := path.Split(name); {
			case !old:
				begun = name
				kinds["list that begins"]++
			case folder == "resourcelist/":
				kinds["page"]++
			case name == open:
				kinds["list that ends"]++
			case i == 0 && folder == "changelist/" && partName.MatchString(name):
				kinds["list that ends"]++
			default:
				kinds[name]++
			}
		}
		want := map[string]int{"page": 1, "resourcelist.xml": 1, "changelist/recent.xml": 1, "changelist.xml": 1, "list that ends": 1, "list that begins": 1}
		if !maps.Equal(kinds, want) || len(report.Removed) > 0 {
			t.Errorf("change %d: written: %q, removed: %q", i, report.Written, report.Removed)
		}
		open = begun
	}
	s.check(205, 0)
}
