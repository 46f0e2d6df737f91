package rshttp_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/needs"
	"github.com/resourcesync-go/resourcesync/rshttp"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/topic"
)

// abilities are what a set can do besides listing, one bit each.
type abilities uint

const (
	stater abilities = 1 << iota
	cutter
	changer
	opener
	changeOpener
	watcher
	hubs
	sockets
	unready
	allAbilities
)

func (a abilities) has(b abilities) bool { return a&b != 0 }

func (a abilities) String() string {
	var names []string
	for i, name := range []string{"Stater", "Cutter", "Changer", "Opener", "ChangeOpener", "Watcher", "hubs", "WebSocket", "not ready"} {
		if a.has(1 << i) {
			names = append(names, name)
		}
	}
	return "[" + strings.Join(names, " ") + "]"
}

// advertised returns the entries of the Capability List of a set with abilities a.
func (a abilities) advertised() map[resourcesync.Capability]string {
	want := map[resourcesync.Capability]string{resourcesync.ResourceList: base + "resourcelist.xml"}
	if a.has(opener) {
		want[resourcesync.ResourceDump] = base + "resourcedump.xml"
	}
	if a.has(changer) {
		want[resourcesync.ChangeList] = base + "changelist.xml"
		if a.has(changeOpener) {
			want[resourcesync.ChangeDump] = base + "changedump.xml"
		}
	}
	channel := func(c resourcesync.Capability, folder string) {
		switch {
		case a.has(hubs):
			want[c] = base + folder
		case a.has(sockets):
			want[c] = "wss" + strings.TrimPrefix(base, "https") + folder + "websocket"
		}
	}
	if a.has(changer) {
		channel(resourcesync.ChangeNotification, "change/")
	}
	channel(resourcesync.FrameworkNotification, "framework/")
	return want
}

// lister hides all upgrades of a provider.
type lister struct{ resourcesync.Provider }

// unscanned is a set that has nothing to show yet.
type unscanned struct{ *shelf }

func (unscanned) Stat(context.Context, resourcesync.Range) (resourcesync.Stat, error) {
	return resourcesync.Stat{}, resourcesync.ErrNotReady
}

func (unscanned) Resources(context.Context, resourcesync.Range) iter.Seq2[resourcesync.Resource, error] {
	return func(yield func(resourcesync.Resource, error) bool) {
		yield(resourcesync.Resource{}, resourcesync.ErrNotReady)
	}
}

func (a abilities) set(s *shelf) rshttp.Set {
	set := rshttp.Set{Provider: lister{s}, Prefix: "/papers/"}
	if a.has(unready) {
		set.Provider = lister{unscanned{s}}
	}
	if a.has(stater) {
		if set.Stater = s; a.has(unready) {
			set.Stater = unscanned{s}
		}
	}
	if a.has(cutter) {
		set.Cutter = s
	}
	if a.has(changer) {
		set.Changer = s
	}
	if a.has(opener) {
		set.Opener = s
	}
	if a.has(changeOpener) {
		set.ChangeOpener = history{s}
	}
	if a.has(watcher) {
		set.Watcher = s
	}
	if a.has(hubs) {
		set.RemoteHubs = []topic.RemoteHub{{URI: "https://hub.example.net/"}}
	}
	return set
}

// TestCombinations: for each combination of abilities, the Capability List names
// exactly what is served, every link of a document works, and HEAD has the same header
// as GET.
func TestCombinations(t *testing.T) {
	needs.Time(t)
	s := newShelf(t)
	for i := range 5 {
		s.put(fmt.Sprint(i), noise(uint32(i), 50*i))
	}
	s.put("1", noise(9, 100))
	if err := s.Delete(t.Context(), "3"); err != nil {
		t.Error(err)
	}
	each := abilities(needs.Size(7, 1)) // everyday runs take every seventh
	for a := abilities(0); a < allAbilities; a += each {
		opts := &rshttp.Options{Division: rshttp.Division{PageSize: 2, PackageSize: 120}, Sitemaps: rshttp.PlainSitemaps}
		if a.has(sockets) {
			opts.WebSocket = fakeFeed{}
		}
		v := &visitor{t: t, of: a, src: newSource(t, opts, a.set(s)), seen: map[string]bool{}}
		v.visit("https://example.org/.well-known/resourcesync", resourcesync.Description)
		want := a.advertised()
		if v.told && !maps.Equal(v.entries, want) {
			t.Errorf("%v: the Capability List has %v, and should have %v", a, v.entries, want)
		}
		if !v.told && !(a.has(unready) && a.has(stater)) {
			t.Errorf("%v: there is no Capability List", a)
		}
		for path, there := range map[string]bool{
			"resourcelist.xml":    true,
			"sitemap.xml":         true,
			"resourcedump.xml":    a.has(opener),
			"resourcedump/~.xml":  a.has(opener),
			"resourcedump/~.zip":  a.has(opener),
			"changelist.xml":      a.has(changer),
			"changedump.xml":      a.has(changer) && a.has(changeOpener),
			"change/":             a.has(changer) && a.has(hubs),
			"change/websocket":    a.has(changer) && a.has(sockets),
			"framework/":          a.has(hubs),
			"framework/websocket": a.has(sockets),
		} {
			if status := v.ask(base + path).StatusCode; (status != http.StatusNotFound) != there {
				t.Errorf("%v: %s is answered %d", a, path, status)
			}
		}
		// Beside the Source Description and the Capability List: the Resource
		// List of four resources, two to a page, and what the set can do.
		least := 2
		if !a.has(unready) {
			least += 3
			if a.has(opener) {
				least += 3
			}
			if a.has(changer) {
				least += 2
			}
		}
		if v.told && len(v.seen) < least {
			t.Errorf("%v: %d documents were found", a, len(v.seen))
		}
	}
}

// A visitor follows all links of a Source, without a network.
type visitor struct {
	t       *testing.T
	of      abilities
	src     *rshttp.Source
	seen    map[string]bool
	told    bool // there was a Capability List
	entries map[resourcesync.Capability]string
}

// ask gets uri, and compares HEAD with it.
func (v *visitor) ask(uri string) *http.Response {
	v.t.Helper()
	u, err := url.Parse(uri)
	if err != nil {
		v.t.Fatal(err)
	}
	got, head := get(v.t, v.src, u.EscapedPath()), do(v.t, v.src, http.MethodHead, u.EscapedPath())
	if strings.HasSuffix(u.Path, "/websocket") {
		return got
	}
	if got.StatusCode == http.StatusNotFound && head.StatusCode == http.StatusNotFound {
		return got // by http.NotFound, whose text the server leaves out
	}
	if body := text(v.t, head); head.StatusCode != got.StatusCode || body != "" {
		v.t.Errorf("%v: HEAD %s is answered %s and %d bytes, GET %s", v.of, uri, head.Status, len(body), got.Status)
	}
	for _, h := range []http.Header{got.Header, head.Header} {
		h.Del("X-Request-Id") // of its own for each request
	}
	if !maps.EqualFunc(got.Header, head.Header, slices.Equal) {
		v.t.Errorf("%v: HEAD %s has the header %v, GET %v", v.of, uri, head.Header, got.Header)
	}
	return got
}

// visit reads the document at uri and all documents that it links to.
func (v *visitor) visit(uri string, of resourcesync.Capability) {
	v.t.Helper()
	if v.seen[uri] {
		return
	}
	v.seen[uri] = true
	res := v.ask(uri)
	switch {
	case v.of.has(unready) && res.StatusCode == http.StatusServiceUnavailable && res.Header.Get("Retry-After") != "":
		return
	case res.StatusCode != http.StatusOK:
		v.t.Errorf("%v: %s is answered %s", v.of, uri, res.Status)
		return
	}
	body := text(v.t, res)
	if body == "" || strings.HasSuffix(uri, ".zip") || strings.HasSuffix(uri, "/websocket") {
		return
	}
	head, entries, err := rsxml.Decode(strings.NewReader(body))
	if err != nil || head.Metadata.Capability != of {
		v.t.Errorf("%v: %s is a %q document, %v", v.of, uri, head.Metadata.Capability, err)
		return
	}
	if of == resourcesync.CapabilityList {
		v.told, v.entries = true, map[resourcesync.Capability]string{}
	}
	for _, l := range head.Links {
		switch l.Rel {
		case resourcesync.RelUp:
			v.visit(l.Href, map[bool]resourcesync.Capability{true: resourcesync.Description, false: resourcesync.CapabilityList}[of == resourcesync.CapabilityList])
		case resourcesync.RelIndex:
			v.visit(l.Href, of)
		}
	}
	for _, e := range entries {
		next := of
		switch {
		case head.Index:
		case of == resourcesync.Description:
			next = resourcesync.CapabilityList
		case of == resourcesync.CapabilityList:
			if next = e.Metadata.Capability; v.entries[next] != "" {
				v.t.Errorf("%v: two entries are of %s", v.of, next)
			}
			v.entries[next] = e.Loc
		case of == resourcesync.ResourceDump, of == resourcesync.ChangeDump:
		default:
			continue // of resources
		}
		v.visit(e.Loc, next)
		for _, l := range e.Links {
			switch l.Rel {
			case resourcesync.RelContents:
				v.visit(l.Href, of+"-manifest")
			case resourcesync.RelAlternate:
				v.visit(l.Href, next)
			}
		}
	}
}
