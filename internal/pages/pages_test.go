package pages

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

var update = flag.Bool("update", false, "write the golden files")

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const origin = "https://example.org"

// TestGolden compares the output of templates with files; -update writes the files.
func TestGolden(t *testing.T) {
	templates, err := New(nil)
	if err != nil {
		t.Fatal(err)
	}
	deleted := resourcesync.Change{Type: resourcesync.Deleted, Datetime: noon.Add(-time.Minute), Resource: resourcesync.Resource{URI: origin + "/papers/%C3%BCber.pdf?a=1&b=<script>"}}
	change := NewChange(&deleted, origin)
	counts := Counts{}
	counts.Add(&resourcesync.Change{Type: resourcesync.Created, Datetime: noon.Add(-90 * time.Minute)})
	counts.Add(&resourcesync.Change{Type: resourcesync.Deleted, Datetime: noon.Add(-89 * time.Minute)})
	recent := &Recent{
		Hours: NewTimeline(counts, time.Hour, 24, noon, noon.Add(-6*time.Hour)), Days: NewTimeline(counts, 24*time.Hour, 30, noon, time.Time{}),
		Changes: []Change{change}, All: []webpage.Link{{Text: "papers", URL: "/r/changelist/recent.html"}}, Live: []string{"wss://example.org/r/change/websocket"},
	}
	facts := []webpage.Fact{{Name: "Resources", Value: "1,234"}, {Name: "Last change", Value: "1 hour ago", Note: "22 Nov 2026, 11:00"}}
	channel := Channel{
		Name: "Change Notifications", URL: "/r/change.html", Topic: origin + "/r/change/", Purpose: "Each change.", WebSocket: "wss://example.org/r/change/websocket", Published: 12,
		Hubs: []Hub{{URI: "https://hub.example.net/", Class: "failing", State: "not reached since 22 Nov, 11:00"}},
	}
	harvest := Harvest{Steps: []Step{{Text: "See", Command: "curl 'https://example.org/r?a=1&b=2'"}}}
	list := List{
		Facts: facts, Search: &Search{URL: "/r/resourcelist.html", Name: "Path", Before: "/papers/", Value: "a<b"}, Links: []webpage.Link{{Text: "Download the package (ZIP)", URL: "/r/p.zip"}},
		Columns: []webpage.Column{{Name: "Resource", Class: "uri"}, {Name: "State"}, {Name: "Until", Class: "fit"}, {Name: "Size", Class: "number"}},
		Rows: [][]Cell{
			{{Text: change.Text, URL: change.URI, Foreign: true, HTML: `<td class="uri">`}, {HTML: "<td>" + Badge("open").HTML}, {HTML: "<td>" + Time(noon).HTML}, {HTML: "<td>" + Words("123 kB <").HTML}},
			{{Text: "A", URL: "/a", HTML: "<td>"}, {HTML: "<td>" + Badge("closed").HTML}, {HTML: "<td>" + Time(time.Time{}).HTML}, {HTML: "<td>"}},
		},
		Pager: webpage.Pager{First: "/first", Next: "/next"}, Caption: "All 2 lists", Live: recent.Live,
	}
	for _, data := range []Data{
		Source{About: About{Contact: webpage.Link{Text: "a@example.org", URL: "mailto:a@example.org"}, DescribedBy: "/about"}, Facts: facts, Sets: []Set{{Name: "papers", Description: "Papers & <drafts>. " + strings.Repeat("More words. ", 20), URL: "/r/capabilitylist.html", Resources: "1,234 resources", Newest: noon.Add(-time.Hour), Capabilities: []webpage.Link{{Text: "Resource List", URL: "/r/resourcelist.html"}}}, {Name: "new", URL: "/n", State: "Being prepared"}}, Recent: recent, Harvest: harvest},
		SetPage{Facts: facts, Documents: []Document{{Name: "Resource List", URL: "/r/resourcelist.html", XML: "/r/resourcelist.xml?xml", Purpose: "Every resource.", State: "One list."}}, Recent: recent, Channels: []Channel{channel}, Harvest: harvest},
		list,
		ChannelPage{Facts: facts, Channel: channel, Harvest: harvest},
		Error{Text: "There is no such document.", ID: "ID", Index: "/r/changelist.html"},
	} {
		name := data.Template()
		html, err := templates.Render(name, &webpage.Page{Title: "Title", Intro: "Intro.", Site: "example.org", Home: "/", Now: noon, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(html), "<main")
		got, _, _ = strings.Cut("<main"+got, "<script>")
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
