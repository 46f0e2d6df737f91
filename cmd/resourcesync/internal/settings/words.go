package settings

import (
	"path/filepath"
	"strings"
)

// Words returns the arguments that repeat the values of settings from the command line and the
// environment, as words of a shell. Paths are absolute. If hidden, a secret was masked.
func (c *Catalog) Words(names ...string) (words []string, hidden bool) {
	for _, name := range names {
		for _, name := range []string{name, name + fileSuffix} {
			s := c.Lookup(name)
			if s == nil || s.given.line > 0 { // in a file
				continue
			}
			for _, v := range s.given.values {
				shown := v
				if s.Show != nil {
					shown = s.Show(v)
				}
				hidden = hidden || shown != v
				if path, err := filepath.Abs(shown); err == nil && (s.Offer.Files || s.Offer.Folders) && !strings.Contains(v, "://") {
					shown = path
				}
				words = append(words, s.words(shown)...)
			}
		}
	}
	return words, hidden
}

// words returns the words that set s to a value.
func (s *Setting) words(value string) []string {
	switch {
	case s.Argument:
		return []string{ShellWord(value)}
	case s.IsBool():
		return []string{"--" + s.Name + "=" + ShellWord(value)}
	}
	return []string{"--" + s.Name, ShellWord(value)}
}
