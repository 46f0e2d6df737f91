package pages

import (
	"fmt"
	"time"

	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

// try renders each page with data that has at least one row of everything.
func try(t *webpage.Templates) error {
	now := time.Unix(0, 0)
	var (
		facts   = []webpage.Fact{{Name: "Name", Value: "Value", Note: "Note"}}
		columns = []webpage.Column{{Name: "Name", Class: "number"}}
		links   = []webpage.Link{{Text: "Text", URL: "/"}}
		pager   = webpage.Pager{First: "/", Previous: "/", Next: "/", Note: "Note"}
		changes = []Change{{URI: "/", Text: "/", Type: "created", Datetime: now}}
		line    = NewTimeline(Counts{now.Unix(): {1, 1, 1}}, time.Hour, 1, now, now)
		recent  = &Recent{Hours: line, Days: line, Changes: changes, All: links, Live: []string{"wss://example.org/"}}
		channel = Channel{Name: "Name", URL: "/", Topic: "/", Purpose: "Purpose", WebSocket: "wss://example.org/", Published: 1, Hubs: []Hub{{URI: "/", Class: "ok", State: "State"}}}
		about   = About{Contact: webpage.Link{Text: "a@example.org", URL: "mailto:a@example.org"}, DescribedBy: "/"}
		search  = &Search{URL: "/", Name: "Path", Before: "/papers/", Value: "a"}
		harvest = Harvest{Steps: []Step{{Text: "Text", Command: "command"}}}
	)
	for _, data := range []Data{
		Source{About: about, Facts: facts, Sets: []Set{{Name: "Name", Description: "Description", URL: "/", Resources: "1 resource", Newest: now, Capabilities: links}, {State: "State"}}, Pager: pager, Recent: recent, Harvest: harvest},
		SetPage{About: about, Facts: facts, Documents: []Document{{Name: "Name", URL: "/", XML: "/", Purpose: "Purpose", State: "State"}}, Recent: recent, Channels: []Channel{channel}, Harvest: harvest},
		List{Facts: facts, Search: search, Links: links, Columns: columns, Rows: [][]Cell{{{HTML: "<td>", Text: "Text", URL: "/", Foreign: true}}}, Pager: pager, Caption: "Caption", Empty: "Empty", Live: recent.Live},
		ChannelPage{Facts: facts, Channel: channel, Harvest: harvest},
		Error{Text: "Text", ID: "ID", Index: "/"},
	} {
		p := &webpage.Page{Title: "Title", Intro: "Intro", Site: "example.org", Home: "/", Trail: links, Nav: links, Raw: "/?xml", RawType: "application/xml", Now: now, Data: data}
		if _, err := t.Render(data.Template(), p); err != nil {
			return fmt.Errorf("page template %s.html: %w", data.Template(), err)
		}
	}
	return nil
}
