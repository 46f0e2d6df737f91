package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

func printHelp(w io.Writer) {
	fmt.Fprint(w, `resourcesync turns an existing folder, website or table into a ResourceSync Source,
so that others can copy it and stay in sync.

Commands:
`)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-22s %s\n", c.name+" "+c.arguments, c.summary)
	}
	fmt.Fprint(w, `
"resourcesync COMMAND --help" describes a command.
`)
}

// printServeHelp writes the help of serve; the part about flags is generated from them.
func printServeHelp(w io.Writer) {
	fmt.Fprint(w, `Usage: resourcesync serve [flags] DIR

Publishes the files in the folder DIR as a ResourceSync Source. It serves each
file at a URL, lists all files with their sizes and checksums, and records every
creation, update and deletion, including those made while it does not run. It
runs until you stop it with Ctrl-C, and changes nothing in the folder.

Destinations start at /.well-known/resourcesync. During the first scan there are
no lists yet, and Destinations are asked to retry later. "Ready" is printed when
the scan has ended.

  resourcesync serve .
  resourcesync serve /srv/files --base-url https://files.example.org/

Flags:
`)
	printFlags(w, serveFlags(new(serveConfig)))
}

func printFlags(w io.Writer, flags *flag.FlagSet) {
	flags.VisitAll(func(f *flag.Flag) {
		fmt.Fprintf(w, "  --%s\n        %s\n", f.Name, strings.ReplaceAll(f.Usage, "\n", "\n        "))
	})
}
