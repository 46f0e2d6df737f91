package rshttp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/internal/framework"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/internal/partition"
	"github.com/resourcesync-go/resourcesync/internal/publisher"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
	"github.com/resourcesync-go/resourcesync/topic"
)

// framed is a Source of one set, and the state of its framework channel.
type framed struct {
	t    *testing.T
	src  *Source
	docs *framework.Feed
	text string // the state
}

func frame(t *testing.T, o Options, known string, sets ...Set) *framed {
	t.Helper()
	o.Logger = slog.New(slog.DiscardHandler)
	for i := range sets {
		sets[i].RemoteHubs = []topic.RemoteHub{{URI: "https://hub.example.net/"}}
	}
	src, err := New("https://example.org/rs/", sets, &o)
	if err != nil {
		t.Fatal(err)
	}
	docs, err := framework.NewFeed(src.site.Order[0], src.options.Push.DumpInterval, src.isOld)
	if err != nil {
		t.Fatal(err)
	}
	return &framed{t, src, docs, known}
}

// again returns f after a restart.
func (f *framed) again(o Options, sets ...Set) *framed { return frame(f.t, o, f.text, sets...) }

// get returns the document at uri, which must be there.
func (f *framed) get(uri string) (text string, head rsxml.Head, entries []rsxml.Entry) {
	f.t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		f.t.Fatal(err)
	}
	w := httptest.NewRecorder()
	f.src.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://internal"+u.EscapedPath(), nil))
	if w.Code != 200 {
		f.t.Fatalf("%s: %d %s", uri, w.Code, w.Body)
	}
	text = w.Body.String()
	if head, entries, err = rsxml.Decode(w.Body); err != nil {
		f.t.Fatalf("%s: %v\n%s", uri, err, text)
	}
	return text, head, entries
}

// news calls Next until it returns nothing, saves its states, and returns the updates.
func (f *framed) news() (updates []*publisher.Update) {
	f.t.Helper()
	for range 10 {
		u, now, err := f.docs.Next(f.t.Context(), f.text)
		if err != nil {
			f.t.Fatal(err)
		}
		if u == nil {
			return updates
		}
		f.text = now
		updates = append(updates, u)
	}
	f.t.Fatalf("there is always more: %v", updates)
	return nil
}

// brief formats updates without times.
func brief(updates []*publisher.Update) string {
	var b strings.Builder
	for _, u := range updates {
		for _, e := range u.Entries {
			fmt.Fprintf(&b, "%s %s", e.Metadata.Change, strings.TrimPrefix(e.Loc, "https://example.org/"))
			for _, l := range e.Links {
				fmt.Fprintf(&b, " %s %s", l.Rel, strings.TrimPrefix(l.Href, "https://example.org/"))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func (f *framed) want(want string) {
	f.t.Helper()
	if got := brief(f.news()); got != want {
		f.t.Errorf("got\n%swant\n%s", got, want)
	}
}

// full is a set that has the bytes of all versions.
type full struct{ *memory.Set }

func (full) Open(context.Context, resourcesync.Resource) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("0123456789")), nil
}

func (full) OpenChange(context.Context, resourcesync.Change) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader("0123456789")), nil
}

func (k full) put(t *testing.T, key string) {
	t.Helper()
	err := k.Put(t.Context(), resourcesync.Resource{Key: key, URI: "https://example.org/" + key, Length: resourcesync.Bytes(10), Stamp: time.Now().String(), LastModified: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
}

// seal closes the package of the newest changes of set, as Run does when its period ends.
func seal(t *testing.T, set *memory.Set) {
	t.Helper()
	stat, err := set.Stat(t.Context(), resourcesync.Range{})
	if err == nil {
		err = set.Seal(t.Context(), stat.LastModified)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A found is a document that a crawl has found.
type found struct {
	capability resourcesync.Capability
	text       string
	at         time.Time // as its index says
}

// crawl returns the documents that a Destination finds, but for indexes, by URI, and
// how many there are of each capability.
func (f *framed) crawl() (docs map[string]found, count map[resourcesync.Capability]int) {
	docs, count = map[string]found{}, map[resourcesync.Capability]int{}
	var visit func(uri string, at time.Time)
	visit = func(uri string, at time.Time) {
		text, head, entries := f.get(uri)
		if head.Index {
			for _, e := range entries {
				visit(e.Loc, e.LastMod)
			}
			return
		}
		docs[uri] = found{head.Metadata.Capability, text, at}
		count[head.Metadata.Capability]++
	}
	_, _, entries := f.get("https://example.org/rs/capabilitylist.xml")
	for _, e := range entries {
		switch e.Metadata.Capability {
		case resourcesync.ChangeNotification, resourcesync.FrameworkNotification:
		default:
			visit(e.Loc, time.Time{})
		}
	}
	return docs, count
}

// TestD2_RS16_RS17_FrameworkTellsAll: through a random history of a set, its framework
// channel names the newest document of each capability that is new, and the newest that
// has changed, and no other, in the words that the specification allows.
func TestD2_RS16_RS17_FrameworkTellsAll(t *testing.T) {
	for seed := range uint64(needs.Size(1, 4)) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 5))
			set := full{memory.New(&memory.Options{Window: 3 * time.Hour})}
			o := Options{Division: Division{PageSize: 4 + rnd.IntN(8), PackageSize: 25 + rnd.Int64N(100)}, Push: topic.Options{DumpInterval: 1}}
			f := frame(t, o, "", Set{Provider: set})
			told := map[string]int{}
			var c check
			version := ""
			for step := range 150 {
				if rnd.IntN(15) == 0 {
					c.restarted = true
					f = f.again(o, Set{Provider: set})
				}
				for range rnd.IntN(5) {
					if key := fmt.Sprint(rnd.IntN(10 + step)); rnd.IntN(3) > 0 {
						set.put(t, key)
					} else {
						if err := set.Delete(t.Context(), key); err != nil {
							t.Error(err)
						}
					}
				}
				if stat, err := set.Stat(t.Context(), partition.Whole); err != nil || stat.Version == version {
					c.moved = false
				} else {
					c.moved, version = true, stat.Version
				}
				time.Sleep(time.Duration(1 + rnd.Int64N(int64(time.Hour))))
				after, count := f.crawl()
				c.after, c.is = after, count
				updates := f.news()
				if step > 0 {
					c.check(f, updates, told)
				}
				c.remember(updates, step == 0)
				if t.Failed() {
					t.Fatalf("seed %d, step %d", seed, step)
				}
			}
			for _, c := range []string{"resourcelist created", "resourcelist updated", "resourcedump created", "changelist created", "changelist updated", "changedump created", "changedump updated"} {
				if told[c] == 0 {
					t.Errorf("seed %d: never told: %s", seed, c)
				}
			}
		})
	}
}

// A check compares the announcements with the changes since the documents of a
// capability were last announced.
type check struct {
	before, after map[string]found
	was, is       map[resourcesync.Capability]int
	moved         bool // the set has changed: it may just be divided otherwise
	restarted     bool // a new process does not know which pages are new
}

func (c *check) check(f *framed, updates []*publisher.Update, told map[string]int) {
	f.t.Helper()
	named := map[string]bool{}
	for _, u := range updates {
		if u.Up != "https://example.org/rs/capabilitylist.xml" {
			f.t.Errorf("up of capability documents: %s", u.Up)
		}
		for _, e := range u.Entries {
			c.entry(f, e)
			kind := string(e.Metadata.Capability) + " " + string(e.Metadata.Change)
			if named[kind] || named[e.Loc] {
				f.t.Errorf("more than one entry of %s, or of %s", kind, e.Loc)
			}
			named[kind], named[e.Loc] = true, true
			named[string(e.Metadata.Capability)] = true
			told[kind]++
		}
	}
	for uri, now := range c.after {
		was, old := c.before[uri]
		if c.moved && (!old || was.text != now.text) && !named[string(now.capability)] {
			f.t.Errorf("%s is new or has changed, and no %s is announced", uri, now.capability)
		}
	}
}

// remember marks the current documents of the capabilities in updates, or of all, as
// announced.
func (c *check) remember(updates []*publisher.Update, all bool) {
	announced := map[resourcesync.Capability]bool{}
	for _, u := range updates {
		for _, e := range u.Entries {
			announced[e.Metadata.Capability] = true
		}
	}
	if all {
		c.before, c.was = c.after, c.is
		return
	}
	c.restarted = c.restarted && !announced[resourcesync.ResourceList]
	c.before, c.was = maps.Clone(c.before), maps.Clone(c.was)
	maps.DeleteFunc(c.before, func(_ string, d found) bool { return announced[d.capability] })
	for uri, d := range c.after {
		if announced[d.capability] {
			c.before[uri], c.was[d.capability] = d, c.is[d.capability]
		}
	}
}

// entry checks an entry by itself.
func (c *check) entry(f *framed, e rsxml.Entry) {
	f.t.Helper()
	_, head, _ := f.get(e.Loc)
	kind := e.Metadata.Capability
	if head.Index || head.Metadata.Capability != kind {
		f.t.Errorf("%s is told as %s and is %s, index %v", e.Loc, kind, head.Metadata.Capability, head.Index)
	}
	index := ""
	for _, l := range head.Links {
		if l.Rel == resourcesync.RelIndex {
			index = l.Href
		}
	}
	if len(e.Links) > 1 || (len(e.Links) == 1) != (index != "") || index != "" && (e.Links[0].Rel != resourcesync.RelIndex || e.Links[0].Href != index) {
		f.t.Errorf("%s is under the index %q, told with %v", e.Loc, index, e.Links)
	}
	if at := e.Metadata.Datetime; at.IsZero() || at.After(time.Now()) {
		f.t.Errorf("%s: datetime %v", e.Loc, at)
	}
	was, old := c.before[e.Loc]
	now := c.after[e.Loc]
	if old && was.text == now.text {
		f.t.Errorf("%s is announced as %s but has not changed", e.Loc, e.Metadata.Change)
	}
	if kind == resourcesync.ResourceDump || c.restarted {
		return
	}
	if created := e.Metadata.Change == resourcesync.Created; created && (old || c.is[kind] <= c.was[kind]) {
		f.t.Errorf("%s is announced as created, but does not come from a split", e.Loc)
	}
	for uri, other := range c.after {
		was, old := c.before[uri]
		if other.capability == kind && other.at.After(now.at) && old == (e.Metadata.Change == resourcesync.Updated) && was.text != other.text {
			f.t.Errorf("%s is newer than %s, which is announced as %s", uri, e.Loc, e.Metadata.Change)
		}
	}
}

// TestFrameworkBegins: the first notifications announce all documents, from the Source
// Description down.
func TestFrameworkBegins(t *testing.T) {
	set := full{memory.New(nil)}
	set.put(t, "a")
	f := frame(t, Options{}, "", Set{Provider: set})
	f.crawl() // somebody looks, so that the set is divided
	updates := f.news()
	var ups []string
	for _, u := range updates {
		ups = append(ups, u.Up)
	}
	if want := []string{"", "https://example.org/.well-known/resourcesync", "https://example.org/rs/capabilitylist.xml"}; !slices.Equal(ups, want) {
		t.Errorf("up: %q", ups)
	}
	if got, want := brief(updates), `created .well-known/resourcesync
created rs/capabilitylist.xml
created rs/resourcelist.xml
created rs/resourcedump.xml
created rs/changelist.xml
created rs/changedump.xml
`; got != want {
		t.Errorf("got\n%s", got)
	}
	f.want("")
	set.put(t, "a")
	f.want("updated rs/resourcelist.xml\nupdated rs/changelist.xml\n")
	f.want("")
	seal(t, set.Set)
	f.want("updated rs/changedump.xml\n")
	f.want("")
}

// TestFrameworkRestart: a new process does not repeat announcements, and announces what
// has changed in between.
func TestFrameworkRestart(t *testing.T) {
	set := full{memory.New(nil)}
	set.put(t, "a")
	f := frame(t, Options{}, "", Set{Provider: set})
	f.crawl()
	f.news()
	f = f.again(Options{}, Set{Provider: set})
	f.get("https://example.org/rs/resourcelist.xml")
	f.want("")
	set.put(t, "b")
	f = f.again(Options{}, Set{Provider: set})
	f.get("https://example.org/rs/resourcelist.xml")
	f.want("updated rs/resourcelist.xml\nupdated rs/changelist.xml\n")
	seal(t, set.Set)
	f = f.again(Options{}, Set{Provider: set})
	f.get("https://example.org/rs/resourcelist.xml")
	f.want("updated rs/changedump.xml\n")

	// Another version of the Source renders different documents.
	f = f.again(Options{DescribedBy: "https://example.org/about"}, Set{Provider: set.Set, DescribedBy: "https://example.org/papers"})
	f.get("https://example.org/rs/resourcelist.xml")
	f.want("updated .well-known/resourcesync\nupdated rs/capabilitylist.xml\n")
	f = f.again(Options{DescribedBy: "https://example.org/about"}, Set{Provider: set, DescribedBy: "https://example.org/papers"})
	f.get("https://example.org/rs/resourcelist.xml")
	f.want("updated rs/capabilitylist.xml\n") // which has the dumps again
}

// TestFrameworkWaits: documents that are not available yet are not announced, but a set that
// stays unavailable does not hide a change of the Source Description for ever.
func TestFrameworkWaits(t *testing.T) {
	later := memory.New(&memory.Options{SetOptions: scan.SetOptions{AwaitScan: true}})
	now := Set{Name: "now", Provider: memory.New(nil)}
	f := frame(t, Options{}, "", now, Set{Name: "later", Provider: later})
	f.get("https://example.org/rs/now/resourcelist.xml")
	f.want("created .well-known/resourcesync\ncreated rs/now/capabilitylist.xml\ncreated rs/now/resourcelist.xml\ncreated rs/now/changelist.xml\n")
	waiting, err := framework.NewFeed(f.src.site.Order[1], f.src.options.Push.DumpInterval, f.src.isOld)
	if err != nil {
		t.Fatal(err)
	}
	if u, now, err := waiting.Next(t.Context(), "x"); u != nil || now != "x" || err == nil {
		t.Errorf("a set that is not ready: %v, %q, %v", u, now, err)
	}
	f = f.again(Options{}, now, Set{Name: "later", Provider: later}, Set{Name: "another", Provider: memory.New(nil)})
	f.get("https://example.org/rs/now/resourcelist.xml")
	f.want("")
	before, err := f.docs.Stat(t.Context(), resourcesync.Range{})
	if err != nil {
		t.Fatal(err)
	}
	f.src.site.Made = f.src.site.Made.Add(-10 * time.Minute)
	after, err := f.docs.Stat(t.Context(), resourcesync.Range{})
	if err != nil || after.Version == before.Version {
		t.Errorf("%v, %v: the feed is not read again", after, err)
	}
	f.want("updated .well-known/resourcesync\n")
	if _, err := later.Scan(t.Context(), func(func(resourcesync.Resource, error) bool) {}); err != nil {
		t.Fatal(err)
	}
	f = f.again(Options{}, now, Set{Name: "later", Provider: later})
	f.get("https://example.org/rs/now/resourcelist.xml")
	f.want("updated .well-known/resourcesync\n")
}

// TestFrameworkReplicas: two processes in the same state send the same notifications.
func TestFrameworkReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := full{memory.New(nil)}
		o := Options{Division: Division{PageSize: 3}}
		one, two := frame(t, o, "", Set{Provider: set}), frame(t, o, "", Set{Provider: set})
		for i := range 40 {
			set.put(t, fmt.Sprint(i*7919%31))
			time.Sleep(time.Second)
			one.crawl()
			two.crawl()
			before := one.text
			a, b := one.news(), two.news()
			for j := range a {
				if head := (rsxml.Head{}); j >= len(b) || a[j].Up != b[j].Up ||
					!bytes.Equal(appendAll(&head, a[j]), appendAll(&head, b[j])) {
					t.Fatalf("%d: since %s one says\n%sand the other\n%s", i, before, brief(a), brief(b))
				}
			}
			if one.text != two.text {
				t.Fatalf("%d: one knows\n%s\nand the other\n%s", i, one.text, two.text)
			}
		}
	})
}

func appendAll(head *rsxml.Head, u *publisher.Update) (b []byte) {
	for i := range u.Entries {
		b, _ = rsxml.AppendEntry(b, head, &u.Entries[i])
	}
	return b
}
