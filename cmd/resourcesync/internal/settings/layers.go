package settings

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A Given is the value of a setting in a layer: the command line, the environment or a file.
type Given struct {
	values []string // several only if the setting is repeated
	from   string   // where it is, for messages
	line   int      // in a file
	inFile bool     // the value is in a file of its own
}

func (g *Given) isSet() bool {
	return g.inFile || len(g.values) > 0 && g.values[len(g.values)-1] != ""
}

// A Layer has the given settings by their names.
type Layer map[string]Given

// Value returns the value of a setting that takes one; "" if it has none.
func (l Layer) Value(name string) string {
	if g := l[name]; len(g.values) == 1 {
		return g.values[0]
	}
	return ""
}

// ErrHelp and ErrHelpAll are the errors of Parse for --help and --help-all.
var (
	ErrHelp    = flag.ErrHelp
	ErrHelpAll = errors.New("help requested for all flags")
)

// Parse reads a command line, in which flags may follow arguments. It returns the flags, the
// argument of the catalog among them, and the other arguments.
func (c *Catalog) Parse(args []string) (l Layer, others []string, err error) {
	l = make(Layer)
	add := func(s *Setting, from, value string) {
		g := l[s.Name]
		if !s.IsRepeated() {
			g.values = nil
		}
		l[s.Name] = Given{values: append(g.values, value), from: from}
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			others = append(others, args...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			others = append(others, arg)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
		switch name {
		case "h", "help":
			return nil, nil, ErrHelp
		case "help-all":
			return nil, nil, ErrHelpAll
		}
		s := c.Lookup(name)
		switch {
		case s == nil || s.Argument || s.Key:
			return nil, nil, c.unknownFlag(name)
		case hasValue:
		case s.IsBool():
			value = "true"
		case len(args) == 0:
			return nil, nil, fmt.Errorf("--%s needs a value", name)
		default:
			value, args = args[0], args[1:]
		}
		add(s, "--"+name, value)
	}
	if s := c.Argument(); s != nil && len(others) > 0 {
		add(s, s.Name, others[0])
		others = others[1:]
	}
	return l, others, nil
}

// Unexpected returns an error for arguments that the command does not take, or nil. It suggests
// the first flag that is missing.
func (c *Catalog) Unexpected(others []string) error {
	switch s := c.missing(); {
	case len(others) == 0:
		return nil
	case c.Argument() != nil:
		return fmt.Errorf("unexpected argument %q: only one %s can be given", others[0], c.Argument().Name)
	case s != nil:
		return fmt.Errorf("unexpected argument %q; did you mean --%s %s?", others[0], s.Name, ShellWord(others[0]))
	}
	return fmt.Errorf("unexpected argument %q", others[0])
}

func (c *Catalog) unknownFlag(given string) error {
	var names []string
	for s := range c.Flags() {
		if slices.Contains(s.Also, given) {
			return fmt.Errorf("unknown flag --%s; did you mean --%s?", given, s.Name)
		}
		names = append(names, s.Name)
	}
	return fmt.Errorf("unknown flag --%s%s", given, DidYouMean(given, names, "--"))
}

// Environment returns the variables of the settings. An empty variable counts as missing.
func (c *Catalog) Environment() Layer {
	l := make(Layer)
	for _, s := range c.all {
		value := os.Getenv(s.Variable())
		if value == "" || s.Key {
			continue
		}
		values := []string{value}
		if s.IsRepeated() {
			values = strings.Fields(value)
		}
		l[s.Name] = Given{values: values, from: s.Variable()}
	}
	return l
}

var errTwoValues = errors.New("a value and a file with the value contradict each other; leave out one of them")

// Shared returns the values of l that apply to all sections of a file. It leaves out the keys of
// single sections, even if other settings have the same names.
func (c *Catalog) Shared(l Layer) Layer {
	l = maps.Clone(l)
	maps.DeleteFunc(l, func(name string, _ Given) bool {
		s := c.Lookup(name)
		return s != nil && s.Key
	})
	return l
}

// Apply sets the settings to the values of layers, of which earlier ones have priority. A
// setting and the setting for a file with its value count as one. The error is [Faults].
func (c *Catalog) Apply(layers ...Layer) error {
	var faults Faults
	done := make(map[string]bool)
	for _, l := range layers {
		here := make(map[string]bool)
		for s := range c.All() {
			g, given := l[s.Name]
			about := s
			if f, ok := s.Value.(*secretFile); ok {
				about = c.Lookup(f.of)
			}
			switch {
			case !given || done[about.Name]:
				continue
			case here[about.Name]:
				faults.Add(Errorf("%s: %w", g.from, errTwoValues))
				continue
			}
			here[about.Name] = true
			s.given = g
			if about != s {
				about.given = Given{from: g.from, inFile: true}
			}
			for _, value := range g.values {
				if err := s.Value.Set(value); err != nil {
					faults.Add(s.wrong(value, err))
				}
			}
		}
		for name := range here {
			done[name] = true
		}
	}
	return faults.Err()
}

// wrong returns the error for a value that cannot be parsed.
func (s *Setting) wrong(value string, err error) error {
	if _, isFile := s.Value.(*secretFile); isFile || s.Show != nil {
		return Errorf("%s: %w", s.given.from, err)
	}
	return Errorf("%s %q: %w", s.given.from, value, err)
}

// foreignVariable matches the names of variables that Kubernetes adds for a service with the
// name resourcesync, and the variables of our tests.
var foreignVariable = regexp.MustCompile("^" + variablePrefix + "(TEST_.*|SERVICE_(HOST|PORT.*)|PORT(_.*)?)$")

// UnknownVariables returns the names in the environment that begin like variables of settings
// but are not known.
func UnknownVariables(known []string) (unknown []string) {
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, variablePrefix) && !slices.Contains(known, name) && !foreignVariable.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// CheckVariables returns an error for a variable in the environment whose name is close to a
// known one. Others may belong to another program.
func CheckVariables(known []string) error {
	for _, name := range UnknownVariables(known) {
		if hint := DidYouMean(name, known, ""); hint != "" {
			return Errorf("the environment variable %s matches no flag%s", name, hint)
		}
	}
	return nil
}
