package manual

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"
)

// A Page is a manual page of section 1.
type Page struct {
	Name     string
	Purpose  string    // without a dot
	Version  string    // of the program
	Date     time.Time // of the version; zero if unknown
	Overview Help
	Commands []Command
}

// A Command is a section of a Page.
type Command struct {
	Name string
	Help Help
}

// Write writes the page in the markup of man(7).
func (p *Page) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	date := ""
	if !p.Date.IsZero() {
		date = p.Date.UTC().Format(time.DateOnly)
	}
	fmt.Fprintf(b, ".TH %s 1 \"%s\" \"%s %s\"\n", strings.ToUpper(p.Name), date, p.Name, escape(p.Version))
	fmt.Fprint(b, ".nh\n.ad l\n") // flags and URLs are not to be divided
	fmt.Fprintf(b, ".SH NAME\n%s \\- %s\n", p.Name, escape(p.Purpose))
	fmt.Fprint(b, ".SH SYNOPSIS\n.nf\n")
	for _, c := range p.Commands {
		for _, usage := range c.Help.Usage {
			fmt.Fprintln(b, escape(usage))
		}
	}
	fmt.Fprint(b, ".fi\n.SH DESCRIPTION\n")
	writeParagraphs(b, p.Overview.Paragraphs)
	fmt.Fprint(b, ".SH COMMANDS\n")
	for _, c := range p.Commands {
		fmt.Fprintf(b, ".SS %s\n", escape(c.Name))
		writeParagraphs(b, c.Help.Paragraphs)
		for _, f := range c.Help.Flags {
			fmt.Fprintf(b, ".TP\n.B %s\n%s\n", escape("--"+f.Name), escape(f.Text))
			if f.Default != "" {
				fmt.Fprintf(b, ".br\n%s\n", escape("Default: "+f.Default))
			}
		}
	}
	return b.Flush()
}

func writeParagraphs(w io.Writer, paragraphs []Paragraph) {
	for i, p := range paragraphs {
		if i > 0 {
			fmt.Fprintln(w, ".PP")
		}
		if !p.Literal {
			fmt.Fprintln(w, escape(p.Text))
			continue
		}
		fmt.Fprint(w, ".nf\n")
		for line := range strings.Lines(p.Text) {
			fmt.Fprintln(w, `\&    `+escape(strings.TrimSuffix(line, "\n")))
		}
		fmt.Fprint(w, ".fi\n")
	}
}

// special has the characters that are markup, or that formatters replace with
// typographic ones, which cannot be typed into a shell.
var special = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…", "...")

// escape returns text for a separate line.
func escape(text string) string {
	text = special.Replace(text)
	if strings.HasPrefix(text, ".") {
		return `\&` + text
	}
	return text
}
