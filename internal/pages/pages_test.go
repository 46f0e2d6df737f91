package pages

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const origin = "https://example.org"

// TestGolden compares the output of templates with files; -update writes the files.
func TestGolden(t *testing.T) {
	look, err := New(webpage.Own{})
	if err != nil {
		t.Fatal(err)
	}
	deleted := webpage.Cell{URL: origin + "/papers/%C3%BCber.pdf?a=1&b=<script>", Text: Text(origin+"/papers/%C3%BCber.pdf?a=1&b=<script>", origin), Foreign: true}
	counts := Counts{}
	counts.Add(&resourcesync.Change{Type: resourcesync.Created, Datetime: noon.Add(-90 * time.Minute)})
	counts.Add(&resourcesync.Change{Type: resourcesync.Deleted, Datetime: noon.Add(-89 * time.Minute)})
	recent := &Recent{
		Hours: NewTimeline(counts, time.Hour, 24, noon, noon.Add(-6*time.Hour)), Days: NewTimeline(counts, 24*time.Hour, 30, noon, time.Time{}),
		Changes: webpage.Table{Label: "Latest changes", Columns: []webpage.Column{{Name: "Time", Class: "fit"}, {Name: "Change", Class: "fit"}, {Name: "Resource", Class: "uri"}}, Rows: [][]webpage.Cell{{{At: noon.Add(-time.Minute)}, {Text: "deleted", Badge: true}, deleted}}, Live: 20},
		All:     []webpage.Link{{Text: "papers", URL: "/r/changelist/recent.html"}},
	}
	sockets := []string{"wss://example.org/r/change/websocket"}
	facts := []webpage.Fact{{Name: "Resources", Value: "1,234"}, {Name: "Last change", Value: "1 hour ago", Note: "22 Nov 2026, 11:00"}}
	channel := Channel{
		Name: "Change Notifications", URL: "/r/change.html", Topic: origin + "/r/change/", Purpose: "Each change.", WebSocket: "wss://example.org/r/change/websocket", Published: 12,
		Hubs: []Hub{{URI: "https://hub.example.net/", Class: "failing", State: "not reached since 22 Nov, 11:00"}},
	}
	harvest := []Step{{Text: "See", Command: "curl 'https://example.org/r?a=1&b=2'"}}
	list := Page{
		Facts: facts, Search: &Search{URL: "/r/resourcelist.html", Name: "Path", Before: "/papers/", Value: "a<b"}, Links: []webpage.Link{{Text: "Download the package (ZIP)", URL: "/r/p.zip"}},
		Table: webpage.Table{
			Label: "All 2 lists", Caption: true, Live: 150,
			Columns: []webpage.Column{{Name: "Resource", Class: "uri"}, {Name: "State"}, {Name: "Until", Class: "fit"}, {Name: "Size", Class: "number"}},
			Rows: [][]webpage.Cell{
				{deleted, {Text: "open", Badge: true}, {At: noon}, {Text: "123 kB <"}},
				{{Text: "A", URL: "/a"}, {Text: "closed", Badge: true}, {}, {}},
			},
		},
		Pager: webpage.Pager{First: "/first", Next: "/next"}, Live: sockets,
	}
	empty := Page{Table: webpage.Table{Caption: true, Empty: "No changes here."}}
	source := Page{Contact: webpage.Link{Text: "a@example.org", URL: "mailto:a@example.org"}, DescribedBy: "/about", Facts: facts, Sets: []Set{{Name: "papers", Description: "Papers & <drafts>. " + strings.Repeat("More words. ", 20), URL: "/r/capabilitylist.html", State: "1,234 resources · changed 1 hour ago", Capabilities: []webpage.Link{{Text: "Resource List", URL: "/r/resourcelist.html"}}}, {Name: "new", URL: "/n", State: "Being prepared"}}, Recent: recent, Live: sockets, Harvest: harvest}
	documents := webpage.Table{Label: "Documents", Columns: []webpage.Column{{Name: "Document", Header: true}, {Name: "State"}, {Name: "Raw", Class: "number"}}, Rows: [][]webpage.Cell{{{Text: "Resource List", URL: "/r/resourcelist.html", Note: "Every resource."}, {Text: "One list."}, {Text: "XML", URL: "/r/resourcelist.xml?xml", Spoken: " of Resource List"}}}}
	set := Page{Facts: facts, Table: documents, Recent: recent, Live: sockets, Channels: []Channel{channel}, Harvest: harvest}
	nameless := channel
	nameless.Name = ""
	for name, content := range map[string]templ.Component{
		"source":  source.Content(),
		"set":     set.Content(),
		"list":    list.Content(),
		"empty":   empty.Content(),
		"channel": (&Page{Channels: []Channel{nameless}, Harvest: harvest}).Content(),
		"error":   (&Error{Text: "There is no such document.", ID: "ID", Index: "/r/changelist.html"}).Content(),
	} {
		html, err := look.Render(&webpage.Page{Title: "Title", Intro: "Intro.", Site: "example.org", Home: "/", Now: noon, Footer: Footer(noon)}, content)
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(html), "<main")
		got, _, _ = strings.Cut("<main"+got, "<script>")
		got = strings.ReplaceAll(got, "><", ">\n<") + "\n"
		file := filepath.Join("testdata", name+".html")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != strings.ReplaceAll(string(want), "\r\n", "\n") {
			t.Errorf("%s differs from %s; if it should, run the test with -update:\n%s", name, file, got)
		}
	}
}

// TestHostile: no URI, name or text of a Source or of a client becomes markup or the address of a script.
func TestHostile(t *testing.T) {
	const evil, uri = `"><script>alert(1)</script>`, "javascript:alert(1)"
	links := []webpage.Link{{Text: evil, URL: uri}}
	cells := [][]webpage.Cell{{{URL: uri, Text: evil, Foreign: true}, {URL: uri, Text: evil, Spoken: evil, Note: evil}, {Text: evil, Badge: true}, {Text: evil}}}
	table := webpage.Table{Label: evil, Caption: true, Columns: []webpage.Column{{Name: evil, Class: evil}, {}, {}, {Header: true}}, Rows: cells, Live: 1}
	recent := &Recent{Hours: NewTimeline(nil, time.Hour, 24, noon, noon), Days: NewTimeline(nil, 24*time.Hour, 30, noon, noon), Changes: table, All: links}
	channel := Channel{Name: evil, URL: uri, Topic: uri, Purpose: evil, WebSocket: evil, Hubs: []Hub{{URI: uri, Class: evil, State: evil}}}
	look, err := New(webpage.Own{})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]templ.Component{
		"source":  (&Page{Contact: links[0], DescribedBy: uri, Sets: []Set{{Name: evil, URL: uri, Description: evil, State: evil, Capabilities: links}}, Recent: recent, Live: []string{evil}, Harvest: []Step{{Text: evil, Command: evil}}}).Content(),
		"list":    (&Page{Search: &Search{URL: uri, Name: evil, Before: evil, Value: evil}, Links: links, Table: table, Live: []string{evil}}).Content(),
		"empty":   (&Page{Contact: links[0], Table: webpage.Table{Caption: true, Label: evil, Empty: evil}}).Content(),
		"channel": (&Page{Channels: []Channel{channel}}).Content(),
		"error":   (&Error{Text: evil, ID: evil, Index: uri}).Content(),
	} {
		html, err := look.Render(&webpage.Page{Title: evil}, content)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<script>alert", `="` + uri, evil} {
			if strings.Contains(string(html), bad) {
				t.Errorf("%s: the page has %s", name, bad)
			}
		}
		if !strings.Contains(string(html), "&lt;script&gt;alert(1)") || !strings.Contains(string(html), "about:invalid") {
			t.Errorf("%s: the page lacks the escaped text, or a URL that leads nowhere", name)
		}
	}
}

func TestText(t *testing.T) {
	for uri, want := range map[string]string{
		origin + "/a/b":                         "/a/b",
		origin + "/%C3%BCber%20uns":             "/über uns",
		origin + "/%FF":                         "/%FF",
		origin + "/a%E2%80%AEfdp.exe":           "/a%E2%80%AEfdp.exe", // would turn the direction of the text
		origin + "/a%0Ab":                       "/a%0Ab",
		"https://example.net/a":                 "https://example.net/a",
		"https://example.organic/a":             "https://example.organic/a",
		"https://example.org":                   "https://example.org",
		origin + "/" + strings.Repeat("x", 500): "/" + strings.Repeat("x", 105) + "…" + strings.Repeat("x", 53),
	} {
		if got := Text(uri, origin); got != want {
			t.Errorf("%s is shown as %s, want %s", uri, got, want)
		}
	}
}
