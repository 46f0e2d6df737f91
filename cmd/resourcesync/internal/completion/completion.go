// Package completion writes scripts with which shells complete the command line of a
// program with commands, flags and folders.
package completion

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Command is a possible first argument of the program.
type Command struct {
	Name    string
	Summary string // for a menu
	Flags   []Flag
	Args    Values // of the arguments that are not flags
}

// A Flag is a flag of a command.
type Flag struct {
	Name     string // without hyphens
	Summary  string
	Bool     bool // needs no value
	Repeated bool // may be given more than once
	Values   Values
}

// Values are the possible values of an argument. The zero Values are unknown.
type Values struct {
	Words   []string
	Files   bool
	Folders bool
}

// Files and Folders are the values of settings that name one.
var Files, Folders = Values{Files: true}, Values{Folders: true}

// shells writes scripts, by the name of the shell.
var shells = map[string]func(w io.Writer, program string, commands []Command) error{
	"bash": bash,
	"fish": fish,
	"zsh":  zsh,
}

// Shells returns the names of the supported shells, sorted.
func Shells() []string {
	names := make([]string, 0, len(shells))
	for name := range shells {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write writes the script for one of [Shells].
func Write(w io.Writer, shell, program string, commands []Command) error {
	write, ok := shells[shell]
	if !ok {
		return fmt.Errorf("completion: unknown shell %q; the shells are %s", shell, strings.Join(Shells(), ", "))
	}
	return write(w, program, commands)
}

// quote returns text as one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
