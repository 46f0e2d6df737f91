package verdict

import (
	"fmt"
	"io"
	"strings"

	"github.com/resourcesync-go/resourcesync/check"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/terminal"
	"github.com/resourcesync-go/resourcesync/internal/webpage"
)

var styles = map[check.Harm]terminal.Style{check.Error: terminal.Red, check.Warning: terminal.Yellow, check.Advice: terminal.Bold}

// writeText writes a report for people: a paragraph for each rule, the worst first.
func writeText(s *terminal.Screen, r *check.Report) error {
	var b strings.Builder
	for _, g := range groups(r) {
		fmt.Fprintf(&b, "%s  %s  (%s)\n", s.Paint(styles[g.Harm], string(g.Harm)), g.ID, g.Sentences())
		fmt.Fprintf(&b, "  %s\n", g.Text)
		for _, sentence := range g.Quoted() {
			if text := quotation(&sentence); text != "" {
				fmt.Fprintf(&b, "  %s\n", text)
			}
			fmt.Fprintf(&b, "  %s\n", sentence.Link())
		}
		for _, f := range g.Findings {
			fmt.Fprintf(&b, "    %s\n      %s\n", terminal.Printable(place(&f)), terminal.Printable(f.Message))
		}
		if more := g.More(); more > 0 {
			fmt.Fprintf(&b, "    and %s more\n", webpage.Number(more, "time"))
		}
		if len(g.Seen) > 0 {
			fmt.Fprintf(&b, "  Seen in: %s\n", strings.Join(g.Seen, ", "))
		}
		fmt.Fprintf(&b, "  %s %s\n\n", s.Paint(terminal.Green, "Remedy:"), g.Remedy)
	}
	for _, text := range r.Unchecked {
		fmt.Fprintf(&b, "Not checked: %s\n", terminal.Printable(text))
	}
	if r.Omitted > 0 {
		fmt.Fprintf(&b, "Not shown: %s.\n", omitted(r))
	}
	fmt.Fprintf(&b, "%s. %s\n", Summary(r), read(r))
	_, err := io.WriteString(s, b.String())
	return err
}
