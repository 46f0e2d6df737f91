package completion

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

func fish(w io.Writer, program string, commands []Command) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# fish completion for %[1]s, written by \"%[1]s completion fish\"\n", program)
	fmt.Fprintf(b, "complete -c %s -f\n", program)
	for _, c := range commands {
		fmt.Fprintf(b, "complete -c %s -n __fish_use_subcommand -a %s -d %s\n", program, c.Name, fishQuote(c.Summary))
	}
	for _, c := range commands {
		line := fmt.Sprintf("complete -c %s -n '__fish_seen_subcommand_from %s'", program, c.Name)
		if c.Args.any() {
			fmt.Fprintln(b, line+fishValues(c.Args))
		}
		for _, f := range c.Flags {
			fmt.Fprintf(b, "%s -l %s -d %s", line, f.Name, fishQuote(f.Summary))
			if !f.Bool {
				fmt.Fprint(b, " -r"+fishValues(f.Values))
			}
			fmt.Fprintln(b)
		}
	}
	return b.Flush()
}

// fishValues returns the options that offer v.
func fishValues(v Values) string {
	switch {
	case v.Files:
		return " -F"
	case v.Folders:
		return " -f -a '(__fish_complete_directories)'"
	case len(v.Words) > 0:
		return " -f -a " + fishQuote(strings.Join(v.Words, " "))
	}
	return " -f"
}

// fishQuote returns text as one word of fish, where backslashes are special in quotes.
func fishQuote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
