package view

import (
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/document"
	"github.com/resourcesync-go/resourcesync/internal/pages"
)

// harvest returns the commands that harvest st or, if it is nil, the Source.
func (v *View) harvest(st *document.Set) []pages.Step {
	var steps []pages.Step
	start := v.site.Routes.URL(document.KindDescription, nil, "")
	if st == nil {
		steps = append(steps, pages.Step{Text: "See the documents", Command: "curl --compressed " + quote(start)})
		if len(v.site.Order) > 1 {
			return append(steps,
				pages.Step{Text: "Keep a copy of all sets in a folder in step, with the program resourcesync", Command: mirror(start)},
				pages.Step{Text: "Or of one set; its page has the commands of other programs", Command: mirror(v.site.Order[0].URL(document.KindCapabilityList, ""))},
			)
		}
		st = v.site.Order[0]
	} else if len(v.site.Order) > 1 {
		start = st.URL(document.KindCapabilityList, "")
	}
	steps = append(steps, pages.Step{
		Text:    "Keep a copy in a folder in step, with the program resourcesync",
		Command: mirror(start),
	})
	list := "    --sitemap " + quote(st.URL(document.KindResourceList, ""))
	copied := " " + quote(v.site.Routes.Origin+"=copy")
	steps = append(steps, pages.Step{
		Text:    "Or with the Python package resync: make a first copy, and check it every day",
		Command: "resync-sync --baseline --delete --hash sha-256" + continued + list + copied,
	})
	if st.Changer != nil {
		recent := quote(st.URL(document.KindRecentChanges, ""))
		steps = append(steps,
			pages.Step{
				Text: "Keep in step, every few minutes",
				Command: "resync-sync --incremental --delete --hash sha-256" + continued + list + continued +
					"    --changelist-uri " + recent + continued +
					"    --from $(date -u -d '1 hour ago' +%Y-%m-%dT%H:%M:%SZ)" + copied,
			},
			pages.Step{Text: "Read the changes yourself", Command: "curl --compressed " + recent})
	}
	if len(st.Hubs) > 0 {
		steps = append(steps, subscribe(st, st.Channels()[0]))
	}
	return steps
}

// mirror returns the command that keeps a copy of what is at a URL.
func mirror(uri string) string { return "resourcesync mirror --every 5m " + quote(uri) + " copy" }

// continued ends a line of a command that continues on the next.
const continued = " \\\n"

// subscribe returns the command that subscribes to a channel of st.
func subscribe(st *document.Set, c resourcesync.Capability) pages.Step {
	return pages.Step{
		Text: "Receive notifications at a URL of your own server",
		Command: "curl " + quote(st.Hubs[0]) + continued +
			"    -d hub.mode=subscribe" + continued +
			"    --data-urlencode " + quote("hub.topic="+st.URL(string(c), "")) + continued +
			"    --data-urlencode hub.callback=https://harvester.example.net/callback",
	}
}

// quote returns s as one word of a shell.
func quote(s string) string {
	plain := strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?=%@+,") == ""
	if plain && !strings.ContainsAny(s, "?*") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
