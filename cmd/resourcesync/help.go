package main

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

func printHelp(w io.Writer) {
	fmt.Fprint(w, `resourcesync makes a ResourceSync Source out of what is there already, so that
others can copy it and stay in step with every change.

Commands:
`)
	for _, c := range commands {
		fmt.Fprintf(w, "  %-22s %s\n", c.name+" "+c.arguments, c.summary)
	}
	fmt.Fprint(w, `
"resourcesync COMMAND --help" tells more about a command.
`)
}

// printServeHelp writes the help of serve, the part about flags made from them.
func printServeHelp(w io.Writer) {
	fmt.Fprint(w, `Usage: resourcesync serve [flags] DIR

Publishes the files in the folder DIR as a ResourceSync Source: serves each file
at its own address, lists them all with their sizes and checksums, and keeps a
list of what is created, updated and deleted from now on, also while it is not
running. It runs until it is stopped with Ctrl-C, and changes nothing in the
folder.

Harvesters find everything from /.well-known/resourcesync. While the files are
looked through for the first time, there are no lists yet and harvesters are
asked to try again later; a line tells when all is ready.

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
