// Package manual reads the help texts of the commands, and makes a manual page of them.
package manual

import "strings"

// A Help is the help text of a command.
type Help struct {
	Usage      []string // without "Usage:"
	Paragraphs []Paragraph
	Flags      []Flag
}

// A Paragraph is text in one line, or several lines that are not wrapped.
type Paragraph struct {
	Text    string
	Literal bool
}

// A Flag is the description of a flag.
type Flag struct {
	Name    string // without hyphens
	Text    string // in one line
	Default string // "" if there is none
}

const (
	usage   = "Usage: "
	literal = "  " // before each line of a literal paragraph
)

// Parse reads a help text: lines that begin with "Usage: ", and paragraphs.
func Parse(text string) Help {
	var h Help
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		switch first, isUsage := strings.CutPrefix(block, usage); {
		case isUsage && i == 0:
			for line := range strings.Lines(first) {
				h.Usage = append(h.Usage, strings.TrimSpace(line))
			}
		default:
			h.Paragraphs = append(h.Paragraphs, paragraphs(block)...)
		}
	}
	return h
}

// paragraphs returns the content of a block: text, indented lines that are not wrapped, or
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
