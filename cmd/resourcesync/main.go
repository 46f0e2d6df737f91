// Command resourcesync turns an existing folder, website or table into a ResourceSync
// Source (ANSI/NISO Z39.99, core specification 1.1).
//
//	resourcesync serve DIR
//
// publishes the files of a folder: it lists them, serves them, and records their
// changes. "resourcesync help" lists the other commands.
//
// The exit status is 0 on success, including after SIGINT or SIGTERM; 2 if the command line
// or the configuration is wrong, or names a file or folder that cannot be used; and 1 after
// any other failure, which may pass.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// help has the text of "resourcesync help" and of "resourcesync COMMAND --help". The flags
// in the program have no texts of their own.
//
//go:embed help
var help embed.FS

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "resourcesync:", err)
	}
	return exitStatus(err)
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return usagef(`no command given; "resourcesync serve DIR" publishes a folder, "resourcesync help" lists all commands`)
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return printHelp(stdout, "help")
	case "-version", "--version":
		return version(ctx, args[1:], stdout, stderr)
	}
	i := slices.IndexFunc(commands(), func(c command) bool { return c.name == args[0] })
	if i < 0 {
		var names []string
		for _, c := range commands() {
			names = append(names, c.name)
		}
		return usagef(`there is no command %q%s; "resourcesync help" lists all commands`, args[0], didYouMean(args[0], names, ""))
	}
	err := commands()[i].run(ctx, args[1:], stdout, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return printHelp(stdout, args[0])
	}
	return err
}

func printHelp(w io.Writer, command string) error {
	text, err := helpText(command)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}
