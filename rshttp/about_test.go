package rshttp_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/memory"
	"github.com/resourcesync-go/resourcesync/rshttp"
)

// TestAbout: pages say what the Source and its sets are, and documents link to these pages.
func TestAbout(t *testing.T) {
	src := newSource(t, &rshttp.Options{About: rshttp.About{Title: "Example <Library>", Description: "All that we publish.", Contact: "a+b@example.org"}},
		rshttp.Set{Name: "papers", Provider: papers(t, "a"), About: rshttp.About{Title: "Papers & drafts", Description: strings.Repeat("many words ", 150), Contact: "https://example.org/contact?a&b"}},
		rshttp.Set{Name: "maps", Provider: papers(t, "b")},
		rshttp.Set{Name: "data", Provider: papers(t, "c"), DescribedBy: "https://example.org/data", About: rshttp.About{Title: "Data"}})
	source, set := "/resourcesync/description.html", "/resourcesync/papers/capabilitylist.html"
	for path, want := range map[string][]string{
		source: {
			"<h1>Example &lt;Library&gt;</h1>", `<p class="intro">All that we publish.</p>`, `<a href="mailto:a+b@example.org">a+b@example.org</a>`,
			">Papers &amp; drafts</a></h3><p>many words ", "words …</p>", ">maps</a></h3>",
		},
		set: {
			"<h1>Papers &amp; drafts</h1>", `<p class="intro">many words `, `<a href="https://example.org/contact?a&amp;b">https://example.org/contact?a&amp;b</a>`,
			"<title>Papers &amp; drafts · Example &lt;Library&gt;</title>",
		},
		"/resourcesync/maps/capabilitylist.html": {"<h1>maps</h1>", "mailto:a+b@example.org"},
		"/resourcesync/papers/resourcelist.html": {">Papers &amp; drafts</a></li>"},
		"/resourcesync/data/capabilitylist.html": {`<a href="https://example.org/data">Further information</a>`},
	} {
		html := getPage(t, src, path)
		for _, text := range want {
			if !strings.Contains(html, text) {
				t.Errorf("%s lacks %s:\n%s", path, text, html)
			}
		}
	}
	description := text(t, get(t, src, "/.well-known/resourcesync"))
	for uri, document := range map[string]string{
		"https://example.org" + source: description, "https://example.org" + set: description, "https://example.org/data": description,
	} {
		if strings.Count(document, `<rs:ln rel="describedby" href="`+uri+`"/>`) != 1 {
			t.Errorf("no link to %s:\n%s", uri, document)
		}
	}
	if n := strings.Count(description, "describedby"); n != 3 {
		t.Errorf("%d links, want 3:\n%s", n, description)
	}
	if list := text(t, get(t, src, "/resourcesync/papers/capabilitylist.xml")); !strings.Contains(list, `<rs:ln rel="describedby" href="https://example.org`+set+`"/>`) {
		t.Errorf("no link to the page of the set:\n%s", list)
	}

	src = newSource(t, &rshttp.Options{About: rshttp.About{Title: "A"}, Pages: rshttp.Pages{Off: true}}, rshttp.Set{Provider: papers(t, "a")})
	if description := text(t, get(t, src, "/.well-known/resourcesync")); strings.Contains(description, "describedby") {
		t.Errorf("a link to a page that does not exist:\n%s", description)
	}
	for _, about := range []rshttp.About{{Contact: "us"}, {Title: "\xff"}} {
		for _, site := range []bool{true, false} {
			o, s := rshttp.Options{}, rshttp.Set{Provider: papers(t, "a"), About: about}
			if site {
				o.About, s.About = about, rshttp.About{}
			}
			if _, err := rshttp.New(base, []rshttp.Set{s}, &o); err == nil || !strings.Contains(err.Error(), "of About") {
				t.Errorf("%+v: %v", about, err)
			}
		}
	}
}

// TestLiveSets: the page of a Source shows the new changes of its sets live, and may connect to
// their WebSockets, unless a browser would need many connections.
func TestLiveSets(t *testing.T) {
	for _, tt := range []struct{ sets, live int }{{1, 1}, {3, 3}, {4, 0}} {
		var sets []rshttp.Set
		var live []string
		for i := range tt.sets {
			name := fmt.Sprintf("set%d", i)
			sets = append(sets, rshttp.Set{Name: name, Provider: papers(t, "a")})
			live = append(live, "wss://example.org/resourcesync/"+name+"/change/websocket")
		}
		page := get(t, newSource(t, &rshttp.Options{WebSocket: fakeFeed{}}, sets...), "/resourcesync/description.html")
		want := strings.Join(live[:tt.live], " ")
		if html := text(t, page); strings.Contains(html, " data-live=") != (tt.live > 0) || !strings.Contains(html, fmt.Sprintf(" data-live=%q", want)) && tt.live > 0 {
			t.Errorf("%d sets: the page does not have %q live", tt.sets, want)
		}
		if _, connect, _ := strings.Cut(page.Header.Get("Content-Security-Policy"), "connect-src "); connect != want {
			t.Errorf("%d sets: the page may connect to %q, want %q", tt.sets, connect, want)
		}
	}
}

// TestPageOfSets: the page of a Source with several sets has the changes of all of them, also while
// one cannot be read.
func TestPageOfSets(t *testing.T) {
	now := time.Now().UTC().Add(-time.Hour)
	clock := &memory.Options{Now: func() time.Time { now = now.Add(time.Minute); return now }}
	one, two := memory.New(clock), memory.New(clock)
	for i := range 12 {
		set := one
		if i%2 == 1 {
			set = two
		}
		key := fmt.Sprintf("%02d", i)
		if err := set.Put(t.Context(), resourcesync.Resource{Key: key, URI: "https://example.org/" + key}); err != nil {
			t.Fatal(err)
		}
	}
	broken := &failing{Set: papers(t, "lost")}
	src := newSource(t, nil, rshttp.Set{Name: "one", Provider: one}, rshttp.Set{Name: "two", Provider: two}, rshttp.Set{Name: "three", Provider: broken})
	html := getPage(t, src, src.Page())
	begins, err := one.Since(t.Context()) // the other journal begins later
	if err != nil {
		t.Fatal(err)
	}
	if note := begins.Format("Counted since 2 Jan 2006, 15:04:05 UTC."); !strings.Contains(html, note) {
		t.Errorf("the page lacks %q:\n%s", note, html)
	}
	var want []string
	for i := 11; i >= 2; i-- { // the latest ten
		want = append(want, fmt.Sprintf("https://example.org/%02d", i))
	}
	if got := anchors(html, "nofollow"); !slices.Equal(got, want) {
		t.Errorf("the latest changes are %v, want %v", got, want)
	}
	for _, text := range []string{
		"the last 30 days (UTC): 12 created, 0 updated, 0 deleted", "Not available at the moment",
		`<a href="https://example.org/resourcesync/one/changelist/recent.html">one</a>`, `<a href="https://example.org/resourcesync/two/changelist/recent.html">two</a>`,
		"resourcesync mirror --every 5m https://example.org/.well-known/resourcesync copy", "resourcesync mirror --every 5m https://example.org/resourcesync/one/capabilitylist.xml copy",
	} {
		if !strings.Contains(html, text) {
			t.Errorf("the page lacks %s:\n%s", text, html)
		}
	}
}

// A failing set has a journal that cannot be read.
type failing struct{ *memory.Set }

func (*failing) Since(context.Context) (time.Time, error) { return time.Time{}, errors.New("lost") }

// TestPageOfNewSource: a Source that has listed its resources once has had no change.
func TestPageOfNewSource(t *testing.T) {
	set := listedOnce{papers(t, "a", "b")}
	src := newSource(t, nil, rshttp.Set{Provider: set})
	for _, path := range []string{"/resourcesync/description.html", "/resourcesync/capabilitylist.html"} {
		html := getPage(t, src, path)
		if strings.Contains(html, "Last change") || strings.Contains(html, "changed ") || !strings.Contains(html, "No change since 2 Jan 2026, 03:04:05 UTC.") {
			t.Errorf("%s:\n%s", path, html)
		}
	}
}

// listedOnce is a set without changes, whose journal has begun.
type listedOnce struct{ *memory.Set }

func (listedOnce) Since(context.Context) (time.Time, error) {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), nil
}

func (listedOnce) Windows(context.Context, int) ([]resourcesync.Interval, error) {
	return []resourcesync.Interval{{From: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}}, nil
}

func (listedOnce) Changes(context.Context, resourcesync.Interval) iter.Seq2[resourcesync.Change, error] {
	return func(func(resourcesync.Change, error) bool) {}
}
