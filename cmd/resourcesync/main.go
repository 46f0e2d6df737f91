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
// any other failure, which may be temporary.
package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/exit"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// help has the text of "resourcesync help", and the texts of "resourcesync COMMAND --help" before
// the flags.
//
//go:embed help
var help embed.FS

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := dispatch(ctx, args, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "resourcesync:", err)
	}
	return exit.Status(err)
}

func dispatch(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return settings.Errorf(`no command given; "resourcesync serve DIR" publishes a folder, "resourcesync help" lists all commands`)
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return printHelp(stdout, "help", false)
	case "-version", "--version":
		return version(ctx, args[1:], stdout, stderr)
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		var names []string
		for _, c := range all {
			names = append(names, c.name)
		}
		return settings.Errorf(`unknown command %q%s; "resourcesync help" lists all commands`, args[0], settings.DidYouMean(args[0], names, ""))
	}
	err := all[i].run(ctx, args[1:], stdout, stderr)
	if all := errors.Is(err, settings.ErrHelpAll); all || errors.Is(err, settings.ErrHelp) {
		return printHelp(stdout, args[0], all)
	}
	return err
}

func printHelp(w io.Writer, command string, all bool) error {
	text, err := helpText(command, all)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, text)
	return err
}

// helpText returns what "resourcesync COMMAND --help" or, if all flags are to be explained,
// "resourcesync COMMAND --help-all" prints.
func helpText(name string, all bool) (string, error) {
	text, err := help.ReadFile("help/" + name + ".txt")
	if err != nil {
		return "", err
	}
	if c := catalogOf(name); c != nil && name != "confirm-deletions" {
		text = append(text, c.Help(name, all)...)
	}
	return string(text), nil
}
