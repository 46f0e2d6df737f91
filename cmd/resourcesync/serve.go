package main

import (
	"context"
	"fmt"
	"io"
	"slices"
)

// A publisher is the command that publishes one set of a kind.
func publisher(command string) func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		c, err := parseSite(command, kindOf(command), args)
		if err != nil {
			return err
		}
		return publish(ctx, c, nil, stdout, stderr)
	}
}

// kindOf returns the kind that a command publishes.
func kindOf(command string) kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.command == command })]
}

// parseSite reads the arguments of the command that publishes a set of a kind, or those of
// another command that is given them. The error is flag.ErrHelp for --help.
func parseSite(command string, k kind, args []string) (*siteConfig, error) {
	set := k.create()
	set.common().kind = k.name
	c := &siteConfig{sets: []setConfig{set}}
	others, err := parse(commandFlags(k.command, c, set), args)
	if err == nil {
		err = k.setArgument(set, others)
	}
	if err == nil {
		err = missing(command, k.argument, set.required()...)
	}
	if err != nil {
		return nil, refuse(command, err)
	}
	return c, c.check()
}

// An argued is a setConfig of which the command takes one argument.
type argued interface {
	// argument returns where the argument is to be stored.
	argument() *string
}

// setArgument stores the arguments of a command that are not flags.
func (k kind) setArgument(set setConfig, args []string) error {
	to, ok := set.(argued)
	switch {
	case !ok && len(args) > 0:
		return fmt.Errorf("%q is one argument too many", args[0])
	case !ok:
		return nil
	case len(args) > 1:
		return fmt.Errorf("only one %s can be published: %q is one too many", k.argument, args[1])
	}
	*to.argument() = givenArgument(args, k.argument)
	return nil
}
