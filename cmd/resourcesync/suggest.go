package main

import (
	"flag"
	"fmt"
	"strings"
)

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
