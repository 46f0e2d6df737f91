package daemon

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
)

// announceReady prints what to do next: the URLs to open, and a command to harvest. If the
// log is JSON, or the standard output is an access log, it logs the URLs. listed is negative
// if some set does not count its resources.
func (p *publication) announceReady(listed int64) {
	c := p.site
	description := p.source.Description()
	var lists []string
	for _, m := range p.members {
		lists = append(lists, m.Documents.JoinPath("resourcelist.xml").String())
	}
	if c.LogFormat == "json" || c.AccessLog != "none" {
		about := []any{"source_description", description, "resource_list", strings.Join(lists, " ")}
		if listed >= 0 {
			about = append([]any{"files", listed}, about...)
		}
		p.log.Info("ready", about...)
		return
	}
	s := terminal.New(p.stdout)
	fmt.Fprintf(s, "%s %s.\n\n", s.Paint(terminal.Green, "Ready:"), p.countListed(listed))
	var next terminal.Table
	add := func(name, text string) {
		next.Cells(terminal.Cell{Text: name, Style: terminal.Bold}, terminal.Cell{Text: text})
	}
	add("Site", c.BaseURL)
	add("Source", description)
	for i, m := range p.members {
		add(cmp.Or(m.Name, "List"), lists[i])
	}
	add("Harvest", "resourcesync mirror "+settings.ShellWord(c.BaseURL)+" copy")
	if p.statusURL != "" {
		add("Status", p.statusURL)
	}
	s.WriteTable(&next)
}

// countListed returns a sentence without its full stop. n is negative if the number is
// unknown.
func (p *publication) countListed(n int64) string {
	unit, verb := "resource", "is"
	if len(p.members) == 1 {
		unit = p.members[0].Content.Unit
	}
	if n != 1 {
		unit, verb = unit+"s", "are"
	}
	listed := fmt.Sprintf("%s %s %s listed", humanize.Comma(n), unit, verb)
	if n < 0 {
		listed = fmt.Sprintf("the %s are listed", unit)
	}
	if len(p.members) > 1 {
		listed += fmt.Sprintf(" in %d sets", len(p.members))
	}
	return listed
}
