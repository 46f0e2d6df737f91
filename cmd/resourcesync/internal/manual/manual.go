// Package manual reads the help texts of the commands, and makes a manual page of them.
package manual

import (
	"fmt"
	"strings"
)

// A Help is the help text of a command.
type Help struct {
	Usage      []string // without "Usage:"
	Paragraphs []Paragraph
	Flags      []Flag
}

// A Paragraph is text in one line, or several lines that stay as they are.
type Paragraph struct {
	Text    string
	Literal bool
}

// A Flag is the description of a flag.
type Flag struct {
	Name    string // without hyphens
	Text    string // in one line
	Default string // "" if the text states none
}

const (
	usage   = "Usage: "
	literal = "  "       // before each line of a literal paragraph
	nested  = "        " // before each line about a flag
)

// Parse reads a help text: lines that begin with "Usage: ", paragraphs, and flags after
// the line "Flags:".
func Parse(text string) (Help, error) {
	var h Help
	body, flags, _ := strings.Cut(text, "\nFlags:\n")
	for i, block := range strings.Split(strings.TrimSpace(body), "\n\n") {
		switch first, isUsage := strings.CutPrefix(block, usage); {
		case isUsage && i == 0:
			for line := range strings.Lines(first) {
				h.Usage = append(h.Usage, strings.TrimSpace(line))
			}
		default:
			h.Paragraphs = append(h.Paragraphs, paragraphs(block)...)
		}
	}
	for line := range strings.Lines(flags) {
		line = strings.TrimRight(line, "\n")
		name, isFlag := strings.CutPrefix(line, "  --")
		text, isText := strings.CutPrefix(line, nested)
		switch {
		case isFlag:
			h.Flags = append(h.Flags, Flag{Name: name})
		case isText && len(h.Flags) > 0:
			h.Flags[len(h.Flags)-1].add(text)
		case line != "":
			return Help{}, fmt.Errorf("manual: %q is neither a flag nor its text", line)
		}
	}
	return h, nil
}

func (f *Flag) add(line string) {
	if value, ok := strings.CutPrefix(line, "Default: "); ok {
		f.Default = value
		return
	}
	f.Text = strings.TrimSpace(f.Text + " " + line)
}

// Summary returns the beginning of the text, for a line in a menu.
func (f Flag) Summary() string {
	text := f.Text
	for _, end := range []string{". ", ": ", ", such as "} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimSuffix(text, ".")
}

// paragraphs returns the content of a block: text, indented lines that stay as they are, or
// both.
func paragraphs(block string) []Paragraph {
	indented := strings.Index("\n"+block, "\n"+literal)
	if indented < 0 {
		return []Paragraph{{oneLine(block), false}}
	}
	lines := strings.TrimPrefix(strings.ReplaceAll(block[indented:], "\n"+literal, "\n"), literal)
	found := []Paragraph{{lines, true}}
	if text := oneLine(block[:indented]); text != "" {
		found = append([]Paragraph{{text, false}}, found...)
	}
	return found
}

func oneLine(block string) string { return strings.Join(strings.Fields(block), " ") }
