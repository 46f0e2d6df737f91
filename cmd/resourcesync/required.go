package main

import (
	"fmt"
	"os"
)

// A requirement is a setting without which a command cannot run.
type requirement struct {
	name    string // of the flag, the key, or the argument
	what    string // for people
	example string
	value   string // as it is now; "" if it is missing
}

// missing returns an error for the first setting without a value, or nil. argument is the
// setting that the argument of the command stands for; "" if it takes none.
func missing(command, argument string, required ...requirement) error {
	for _, r := range required {
		switch {
		case r.value != "":
		case r.name == argument:
			return fmt.Errorf("no %s given; give %s, as in: resourcesync %s %s, or in %s", r.name, r.what, command, shellWord(r.example), variableOf(r.name))
		default:
			return fmt.Errorf("no --%s given; give %s, as in --%s %s, or in %s", r.name, r.what, r.name, shellWord(r.example), variableOf(r.name))
		}
	}
	return nil
}

// missingKey returns an error for the first setting of a set in a configuration file without
// a value, or nil.
func (s *setSection) missingKey(kind string, required []requirement) error {
	for _, r := range required {
		if r.value == "" {
			return usagef("%s: a set of the kind %s has no %s; add %s, as in %s: %s", s.from, kind, r.name, r.what, r.name, keyText(r.example))
		}
	}
	return nil
}

// keyText returns the value of a key as a configuration file has it. Braces begin a mapping
// there.
func keyText(value string) string {
	if plainWord.MatchString(value) {
		return value
	}
	return "'" + value + "'"
}

// givenArgument returns an argument that may be in a variable instead; "" if there is none.
func givenArgument(others []string, name string) string {
	if len(others) > 0 {
		return others[0]
	}
	return os.Getenv(variableOf(name))
}
