package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/manual"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

// printCompletion prints the completion script for a shell.
func printCompletion(_ context.Context, args []string, stdout, _ io.Writer) error {
	shells := strings.Join(completion.Shells(), ", ")
	args, err := parse(new(settings.Catalog), args)
	switch {
	case err != nil:
		return refuse("completion", err)
	case len(args) != 1:
		return settings.Errorf("completion: name one of the shells %s, as in: resourcesync completion bash", shells)
	}
	offered, err := offeredCommands()
	if err != nil {
		return err
	}
	if err := completion.Write(stdout, args[0], "resourcesync", offered); err != nil {
		return settings.Errorf("completion: there is no script for %q%s; the shells are %s", args[0], settings.DidYouMean(args[0], completion.Shells(), ""), shells)
	}
	return nil
}

// offeredCommands returns the completions for shells, with texts from the help.
func offeredCommands() ([]completion.Command, error) {
	var offered []completion.Command
	summaries, err := commandSummaries()
	if err != nil {
		return nil, err
	}
	for _, c := range commands() {
		o := completion.Command{Name: c.name, Summary: summaries[c.name], Args: c.offered()}
		if c.catalog != nil {
			for s := range c.catalog().Flags() {
				o.Flags = append(o.Flags, completion.Flag{Name: s.Name, Summary: s.Summary(), Bool: s.IsBool(), Repeated: s.IsRepeated(), Values: s.Offered()})
			}
		}
		offered = append(offered, o)
	}
	return offered, nil
}

// printManual prints a manual page that has all help texts.
func printManual(_ context.Context, args []string, stdout, _ io.Writer) error {
	if err := parseAlone("man", new(settings.Catalog), args); err != nil {
		return err
	}
	page := manual.Page{Name: "resourcesync", Purpose: "publish a folder, website or table as a ResourceSync Source"}
	if info, ok := debug.ReadBuildInfo(); ok {
		page.Version, page.Date = info.Main.Version, revisionTime(info)
	}
	var err error
	if page.Overview, err = readHelp("help"); err != nil {
		return err
	}
	for _, c := range commands() {
		text, err := readHelp(c.name)
		if err != nil {
			return err
		}
		page.Commands = append(page.Commands, manual.Command{Name: c.name, Help: text})
	}
	return page.Write(stdout)
}

// readHelp returns the help of a command with all flags.
func readHelp(command string) (manual.Help, error) {
	text, err := help.ReadFile("help/" + command + ".txt")
	h := manual.Parse(string(text))
	if c := catalogOf(command); c != nil && command != "confirm-deletions" {
		for s := range c.Flags() {
			h.Flags = append(h.Flags, manual.Flag{Name: s.Name, Text: s.LongText(), Default: s.DefaultText()})
		}
	}
	return h, err
}

// commandSummaries returns the lines about commands in the overview, by command.
func commandSummaries() (map[string]string, error) {
	text, err := help.ReadFile("help/help.txt")
	if err != nil {
		return nil, err
	}
	_, list, _ := strings.Cut(string(text), "\nCommands:\n")
	summaries := make(map[string]string)
	for line := range strings.Lines(list) {
		call, summary, ok := strings.Cut(strings.TrimSpace(line), "  ")
		if !ok {
			break // the list has ended
		}
		name, _, _ := strings.Cut(call, " ")
		summaries[name] = strings.TrimSpace(summary)
	}
	if len(summaries) == 0 {
		return nil, fmt.Errorf("no commands in the help")
	}
	return summaries, nil
}
