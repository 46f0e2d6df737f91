// Package settings declares the settings of a program, each in one place: its flag, its
// environment variable, its key in a configuration file, its text in the help, the manual and
// shell completion, and whether a reload can change it. Values come in layers, and errors
// name the layer.
package settings

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
)

// A Group is a part of the flags in a help. The help explains flags without a group in full,
// and names the others.
type Group string

// The groups, in the order of the help.
const (
	Address Group = "address"
	Lists   Group = "lists"
	Push    Group = "push"
	Dumps   Group = "dumps"
	Limits  Group = "limits"
	State   Group = "state"
	Logs    Group = "logs"
)

// Groups has all groups.
var Groups = []Group{Address, Lists, Push, Dumps, Limits, State, Logs}

// A Setting is a flag, a variable and a key with one name.
type Setting struct {
	Name  string
	Value Value
	Group Group
	Text  string // for people: sentences, whose beginning is for menus

	Default string // as it could be given
	Without string // what happens without a value, if there is no Default; "" for nothing

	Need    string // what to give, if the command cannot run without a value
	Example string // of what to give

	Offer    completion.Values // for shells, in place of the words of a [Choice]
	Also     []string          // what other programs call it
	Argument bool              // the argument of the command, in place of a flag
	Key      bool              // only in configuration files
	Restart  bool              // a reload cannot change it

	// Show returns a value in the form that people may see; nil if everybody may see
	// all values.
	Show func(value string) string

	given Given // in the layer with the highest priority
}

// A Value is where a setting is stored. Errors do not quote the text, and state valid
// values.
type Value interface{ Set(text string) error }

// A Catalog has the settings of a command, or of a section of a configuration file.
type Catalog struct{ all []*Setting }

// Add adds settings, and sets their defaults.
func (c *Catalog) Add(all ...Setting) {
	for _, s := range all {
		s.Text = strings.Join(strings.Fields(s.Text), " ")
		s.setDefault()
		c.all = append(c.all, &s)
	}
}

// Take adds the settings of another catalog that have these names. The two share them.
func (c *Catalog) Take(from *Catalog, names ...string) {
	for _, name := range names {
		c.all = append(c.all, from.Lookup(name))
	}
}

func (s *Setting) setDefault() {
	if s.Default == "" {
		return
	}
	if err := s.Value.Set(s.Default); err != nil {
		panic(fmt.Sprintf("settings: default of %s: %v", s.Name, err))
	}
}

// Change gives a setting another meaning: the Text, Default, Without, Need and Example of
// changed, if they are not empty. A catalog may lack the setting.
func (c *Catalog) Change(changed Setting) {
	s := c.Lookup(changed.Name)
	if s == nil {
		return
	}
	for _, field := range []struct {
		to   *string
		text string
	}{{&s.Text, strings.Join(strings.Fields(changed.Text), " ")}, {&s.Default, changed.Default}, {&s.Without, changed.Without}, {&s.Need, changed.Need}, {&s.Example, changed.Example}} {
		if field.text != "" {
			*field.to = field.text
		}
	}
	if changed.Default != "" {
		s.setDefault()
	}
}

// Lookup returns the setting with a name, or nil.
func (c *Catalog) Lookup(name string) *Setting {
	return c.first(func(s *Setting) bool { return s.Name == name })
}

// Argument returns the setting that the argument of the command sets, or nil.
func (c *Catalog) Argument() *Setting { return c.first(func(s *Setting) bool { return s.Argument }) }

func (c *Catalog) first(is func(s *Setting) bool) *Setting {
	if i := slices.IndexFunc(c.all, is); i >= 0 {
		return c.all[i]
	}
	return nil
}

// All returns the settings in the order of their names.
func (c *Catalog) All() iter.Seq[*Setting] {
	return slices.Values(slices.SortedFunc(slices.Values(c.all), func(a, b *Setting) int { return cmp.Compare(a.Name, b.Name) }))
}

// Flags returns the settings that are flags, in the order of their names.
func (c *Catalog) Flags() iter.Seq[*Setting] {
	return func(yield func(*Setting) bool) {
		for s := range c.All() {
			if !s.Argument && !s.Key && !yield(s) {
				return
			}
		}
	}
}

// NeedRestart returns the names of the settings that have changed since before, and that a
// reload cannot change.
func (c *Catalog) NeedRestart(before *Catalog) (names []string) {
	for i, s := range c.all {
		if s.Restart && !reflect.DeepEqual(s.Value, before.all[i].Value) { // all is in the order of the declarations
			names = append(names, s.Name)
		}
	}
	return names
}

// variablePrefix begins the names of environment variables.
const variablePrefix = "RESOURCESYNC_"

// Variable returns the name of the environment variable.
func (s *Setting) Variable() string { return VariableOf(s.Name) }

// VariableOf returns the name of the environment variable of a setting.
func VariableOf(name string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// Offered returns the values that shells offer.
func (s *Setting) Offered() completion.Values {
	if c, ok := s.Value.(*choice); ok {
		return completion.Values{Words: c.words}
	}
	return s.Offer
}

// IsBool reports whether the flag needs no value.
func (s *Setting) IsBool() bool {
	_, ok := s.Value.(*boolean)
	return ok
}

// IsRepeated reports whether the setting takes one more value at each use.
func (s *Setting) IsRepeated() bool {
	_, ok := s.Value.(interface{ repeated() })
	return ok
}

// Summary returns the beginning of the text, for a line in a menu.
func (s *Setting) Summary() string {
	text := s.Text
	for _, end := range []string{". ", ": ", ", such as "} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimSuffix(text, ".")
}

// missing returns the first setting that needs a value and has none, or nil.
func (c *Catalog) missing() *Setting {
	return c.first(func(s *Setting) bool { return s.Need != "" && !s.given.isSet() })
}

// Missing returns an error for the first setting of a command that needs a value and has
// none, or nil.
func (c *Catalog) Missing(command string) error {
	switch s := c.missing(); {
	case s == nil:
		return nil
	case s.Argument:
		return fmt.Errorf("no %s given; give %s, as in: resourcesync %s %s, or in %s", s.Name, s.Need, command, ShellWord(s.Example), s.Variable())
	default:
		return fmt.Errorf("no --%s given; give %s, as in --%s %s, or in %s", s.Name, s.Need, s.Name, ShellWord(s.Example), s.Variable())
	}
}
