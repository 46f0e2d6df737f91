package main

import (
	"context"
	"flag"
	"io"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/verdict"
)

// A command is a possible first argument. Its help text is help/NAME.txt, and
// help/help.txt has its summary.
type command struct {
	name string

	// run runs it with the other arguments. flag.ErrHelp means that they ask for the
	// help.
	run func(ctx context.Context, args []string, stdout, stderr io.Writer) error

	flags func() *flag.FlagSet // nil if there are none
	args  completion.Values    // of the arguments that are not flags
}

// commands returns all commands in the order of the help.
func commands() []command {
	folder := completion.Values{Folders: true}
	ofTriggers := func() *flag.FlagSet { return triggersFlags(new(triggersConfig)) }
	ofMirror := func() *flag.FlagSet { return mirrorFlags(new(mirrorConfig)) }
	ofState := func() *flag.FlagSet { // it accepts all flags, and these have an effect
		flags := newFlags("confirm-deletions")
		for _, name := range []string{"base-url", "state", "upstream"} {
			flags.Var(kindOf("proxy").siteFlags().Lookup(name).Value, name, "")
		}
		flags.String("config", "", "")
		return flags
	}
	var all []command
	for _, k := range kinds {
		all = append(all, command{k.command, publisher(k.command), k.siteFlags, k.values})
	}
	ofRun := func(command string) func() *flag.FlagSet {
		return func() *flag.FlagSet { return runFlags(command, new(string), new(siteConfig), new(setSettings)) }
	}
	return append(all, []command{
		{"run", runSets, ofRun("run"), completion.Values{Files: true}},
		{"check-config", checkConfigFile, ofRun("check-config"), completion.Values{Files: true}},
		{"build", build, func() *flag.FlagSet { return buildFlags(new(buildConfig)) }, folder},
		{"confirm-deletions", confirmDeletions, ofState, folder},
		{"status", showStatus, func() *flag.FlagSet { return queryFlags(new(queryConfig)) }, completion.Values{}},
		{"mirror", mirrorSource, ofMirror, folder},
		{"check", checkSource, func() *flag.FlagSet { return checkFlags(new(checkConfig)) }, completion.Values{Files: true}},
		{"triggers", triggers, ofTriggers, completion.Values{}},
		{"completion", printCompletion, nil, completion.Values{Words: completion.Shells()}},
		{"man", printManual, nil, completion.Values{}},
		{"version", version, nil, completion.Values{}},
	}...)
}

// flagValues are the values that shells offer for flags, by the name of the flag.
var flagValues = map[string]completion.Values{
	"access-log": {Words: []string{"combined", "json", "none"}},
	"config":     {Files: true},
	"db":         {Files: true},
	"format":     {Words: verdict.Formats()},
	"hash":       {Words: []string{"sha-256", "md5", "md5,sha-256", "none"}},
	"hub":        {Words: []string{"own", "none"}},
	"out":        {Folders: true},
	"log-format": {Words: []string{"text", "json"}},
	"state":      {Files: true},
	"tls-cert":   {Files: true},
	"tls-key":    {Files: true},
	"unit":       {Words: []string{"s", "ms", "us"}},
	"verify":     {Words: []string{"get", "head", "none"}},
	"versions":   {Folders: true},
}
