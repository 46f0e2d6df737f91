package build

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/daemon"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/static"
	"github.com/resourcesync-go/resourcesync/wellknown"
)

// print reports the result, to people or to programs.
func (c *Config) print(ctx context.Context, stdout io.Writer, m *daemon.Member, src *static.Source, report static.Report, took time.Duration) {
	scan := m.Scanned.Last()
	listed, err := m.Stat(ctx)
	if err != nil {
		m.Log.Warn("files not counted", "error", err)
	}
	if c.json {
		err := json.NewEncoder(stdout).Encode(map[string]any{
			"listed": listed.Count, "created": scan.Created, "updated": scan.Updated, "deleted": scan.Deleted, "held": scan.Held,
			"documents": report.Documents, "written": orEmpty(report.Written), "written_bytes": report.Bytes,
			"removed": orEmpty(report.Removed), "unlisted": report.Unlisted,
			"scan_seconds": scan.Took.Seconds(), "write_seconds": took.Seconds(),
		})
		if err != nil {
			m.Log.Warn("report not printed", "error", err)
		}
		return
	}
	fmt.Fprintf(stdout, "%s listed. Written: %s of %s (%s). Removed: %s.\n", terminal.Count(listed.Count, "files"),
		humanize.Comma(int64(len(report.Written))), terminal.Count(int64(report.Documents), "documents"), terminal.Bytes(report.Bytes), humanize.Comma(int64(len(report.Removed))))
	for _, name := range report.Written {
		if "/"+name == wellknown.Path { // the first time
			c.announce(stdout, src)
		}
	}
}

// announce prints where the documents will be found.
func (c *Config) announce(stdout io.Writer, src *static.Source) {
	s := terminal.New(stdout)
	var next terminal.Table
	add := func(name, text string) {
		next.Cells(terminal.Cell{Text: name, Style: terminal.Bold}, terminal.Cell{Text: text})
	}
	add("Source", src.Description())
	for _, uri := range src.Sitemaps() {
		add("robots.txt", "Sitemap: "+uri)
	}
	add("Harvest", "resourcesync mirror "+settings.ShellWord(c.site.BaseURL)+" copy")
	fmt.Fprintln(s)
	s.WriteTable(&next)
}

func orEmpty(names []string) []string {
	if names == nil {
		return []string{}
	}
	return names
}
