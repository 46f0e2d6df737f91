package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A given is the value of a flag in a layer: the command line, the environment or a file.
type given struct {
	values []string // several only if the flag may be repeated
	from   string   // where it is, for messages
	line   int      // in a file
}

// A layer is the settings of one source, by the names of flags.
type layer map[string]given

// variablePrefix begins the names of the environment variables of flags.
const variablePrefix = "RESOURCESYNC_"

// variableOf returns the name of the environment variable of a flag.
func variableOf(flagName string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flagName, "-", "_"))
}

// environment returns the variables of flags. An empty variable counts as missing.
func environment(flags *flag.FlagSet) layer {
	l := make(layer)
	flags.VisitAll(func(f *flag.Flag) {
		name := variableOf(f.Name)
		value := os.Getenv(name)
		if value == "" {
			return
		}
		values := []string{value}
		if isRepeated(f.Value) {
			values = strings.Fields(value)
		}
		l[f.Name] = given{values: values, from: name}
	})
	return l
}

// apply sets flags to the values of layers, of which earlier ones have priority. It leaves
// out flags in set, and returns what it has applied. A flag and that for a file with its
// value are one.
func apply(flags *flag.FlagSet, set map[string]bool, layers ...layer) (layer, error) {
	applied := make(layer)
	done := make(map[string]string) // by settings of higher priority
	for name := range set {
		done[strings.TrimSuffix(name, fileSuffix)] = "--" + name
	}
	for _, l := range layers {
		here := make(map[string]string)
		var err error
		flags.VisitAll(func(f *flag.Flag) {
			s, ok := l[f.Name]
			about := f.Name
			if _, isFile := f.Value.(*secretFile); isFile {
				about = strings.TrimSuffix(about, fileSuffix)
			}
			if !ok || done[about] != "" || err != nil {
				return
			}
			if other := here[about]; other != "" {
				err = fmt.Errorf("%s: %w", s.from, errTwoValues)
				return
			}
			here[about] = s.from
			for _, value := range s.values {
				if setErr := flags.Set(f.Name, value); setErr != nil {
					err = fmt.Errorf("%s: %w", s.from, invalidValue(f, value, setErr))
					return
				}
			}
			applied[f.Name] = s
		})
		if err != nil {
			return nil, err
		}
		for about, from := range here {
			done[about] = from
		}
	}
	return applied, nil
}

// invalidValue returns an error of a flag, which quotes a value unless it is secret.
func invalidValue(f *flag.Flag, value string, err error) error {
	switch f.Value.(type) {
	case *secret, *secretFile:
		return err
	}
	return fmt.Errorf("invalid value %q: %w", value, err)
}

// setNames returns the names of the flags that have been set.
func setNames(flags *flag.FlagSet) map[string]bool {
	names := make(map[string]bool)
	flags.Visit(func(f *flag.Flag) { names[f.Name] = true })
	return names
}

// checkVariables returns an error for a variable in the environment whose name nearly is
// that of a flag. Others that no flag has may belong to another program.
func checkVariables() error {
	known := knownVariables()
	for _, name := range unknownVariables(known) {
		if hint := didYouMean(name, known, ""); hint != "" {
			return usagef("the environment variable %s is that of no flag%s", name, hint)
		}
	}
	return nil
}

// knownVariables returns the names of the variables of all commands.
func knownVariables() []string {
	var known []string
	add := func(f *flag.Flag) { known = append(known, variableOf(f.Name)) }
	for _, c := range commands() {
		if c.flags != nil {
			c.flags().VisitAll(add)
		}
	}
	for _, k := range kinds {
		if k.argument != "" {
			known = append(known, variableOf(k.argument))
		}
	}
	return known
}

// foreignVariable matches the names of variables that Kubernetes adds for a service with the
// name resourcesync, and those of our tests.
var foreignVariable = regexp.MustCompile("^" + variablePrefix + "(TEST_.*|SERVICE_(HOST|PORT.*)|PORT(_.*)?)$")

// unknownVariables returns the names in the environment that begin like those of flags,
// and are none.
func unknownVariables(known []string) []string {
	var unknown []string
	isKnown := make(map[string]bool, len(known))
	for _, name := range known {
		isKnown[name] = true
	}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if strings.HasPrefix(name, variablePrefix) && !isKnown[name] && !foreignVariable.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}
