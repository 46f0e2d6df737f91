package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// newFlags returns the flags of a command, without any.
func newFlags(command string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run reports errors, in one line
	return flags
}

// parse sets flags, and returns the other arguments, which flags may follow. The error is
// flag.ErrHelp for --help.
func parse(flags *flag.FlagSet, args []string) (others []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, suggestFlag(err, flags)
		}
		if flags.NArg() == 0 {
			return others, nil
		}
		others = append(others, flags.Arg(0))
		args = flags.Args()[1:]
	}
}

// refuse makes err, an error of the flags of a command, a usageError that names the help.
func refuse(command string, err error) error {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return err
	}
	return usagef(`%s: %w; "resourcesync %s --help" explains the flags`, command, err, command)
}

// didYouMean returns a question that suggests the name closest to the given one, or
// "" if none is close.
func didYouMean(given string, names []string, prefix string) string {
	best, fewest := "", 3
	for _, name := range names {
		if d := edits(given, name); d < fewest && d < len(name) {
			best, fewest = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s%s?", prefix, best)
}

// suggestFlag adds a suggestion to an error about an unknown flag.
func suggestFlag(err error, flags *flag.FlagSet) error {
	given, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if !ok {
		return err
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
	given = strings.TrimLeft(given, "-")
	return fmt.Errorf("there is no flag --%s%s", given, didYouMean(given, names, "--"))
}

// edits returns the edit distance of a and b: insertions, deletions, replacements and
// swaps of neighbours.
func edits(a, b string) int {
	last, before := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range before {
		before[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(row[j]+1, before[j+1]+1, before[j])
			if a[i] != b[j] {
				row[j+1] = min(row[j], before[j], before[j+1]) + 1
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], last[j-1]+1)
			}
		}
		last, before = before, row
	}
	return before[len(b)]
}
