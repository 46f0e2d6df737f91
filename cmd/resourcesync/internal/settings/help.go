package settings

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// width is the length of a line of help.
const width = 88

// Help returns the part of a help about the flags. Flags in groups are only named, unless all
// are to be explained.
func (c *Catalog) Help(command string, all bool) string {
	var b strings.Builder
	if names := c.inGroup(""); len(names) > 0 {
		b.WriteString("\nFlags:\n")
		for _, s := range names {
			s.help(&b)
		}
	}
	headed := false
	for _, group := range Groups {
		in := c.inGroup(group)
		switch {
		case len(in) == 0:
		case all:
			first, size := utf8.DecodeRuneInString(string(group))
			fmt.Fprintf(&b, "\n%c%s:\n", unicode.ToUpper(first), group[size:])
			for _, s := range in {
				s.help(&b)
			}
		default:
			if !headed {
				fmt.Fprintf(&b, "\nMore flags, which \"resourcesync %s --help-all\" explains:\n", command)
				headed = true
			}
			var names []string
			for _, s := range in {
				names = append(names, "--"+s.Name)
			}
			text := wrap(strings.Join(names, " "), "           ")
			fmt.Fprintf(&b, "  %-9s%s", group, strings.TrimPrefix(text, "           "))
		}
	}
	return b.String()
}

func (c *Catalog) inGroup(g Group) (in []*Setting) {
	for s := range c.Flags() {
		if s.Group == g {
			in = append(in, s)
		}
	}
	return in
}

func (s *Setting) help(b *strings.Builder) {
	const indent = "        "
	fmt.Fprintf(b, "  --%s\n%s", s.Name, wrap(s.LongText(), indent))
	if text := s.DefaultText(); text != "" {
		b.WriteString(wrap("Default: "+text, indent))
	}
}

// LongText returns the text, and further sentences that the Value determines.
func (s *Setting) LongText() string {
	text := s.Text
	if s.IsRepeated() {
		text += " May be repeated."
	}
	if s.Need != "" && s.Default == "" {
		text += " Required."
	}
	return text
}

// DefaultText describes the effect without a value. It is "" if there is none.
func (s *Setting) DefaultText() string {
	switch {
	case s.Default != "" && !(s.IsBool() && s.Default == "false"):
		return s.Default
	case s.Without != "":
		return s.Without
	case s.IsBool() || s.Need != "":
		return ""
	}
	return "none"
}

// wrap returns text in lines with an indent.
func wrap(text, indent string) string {
	var b strings.Builder
	line := indent
	for _, word := range strings.Fields(text) {
		if line != indent && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			b.WriteString(line + "\n")
			line = indent
		}
		if line != indent {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
