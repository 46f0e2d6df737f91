package main

import (
	"cmp"
	"context"
	"flag"
	"time"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/completion"
	"github.com/resourcesync-go/resourcesync/rsxml"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A kind is a kind of set, by the origin of its resources.
type kind struct {
	name     string // in configuration files
	command  string // that publishes one set of the kind
	argument string // the flag that the argument of the command stands for; "" if it takes none
	values   completion.Values
	create   func() setConfig
}

// kinds are the kinds of sets. A new one needs a line here, a setConfig, and the help of
// its command.
var kinds = []kind{
	{"folder", "serve", "folder", completion.Values{Folders: true}, func() setConfig { return new(folderConfig) }},
	{"upstream", "proxy", "", completion.Values{}, func() setConfig { return new(upstreamConfig) }},
	{"oai", "oai", "url", completion.Values{}, func() setConfig { return new(oaiConfig) }},
	{"table", "table", "", completion.Values{}, func() setConfig { return new(tableConfig) }},
	{"bucket", "bucket", "bucket", completion.Values{}, func() setConfig { return new(bucketConfig) }},
}

// A setConfig is the configuration of a set. The methods are called in the order in which
// they stand here.
type setConfig interface {
	// common returns the settings that sets of all kinds have.
	common() *setSettings

	// flags adds the flags of the kind, with their defaults. It may change the defaults
	// of those that all kinds have, which flags has already.
	flags(flags *flag.FlagSet)

	// required returns the settings without which there is nothing to publish.
	required() []requirement

	// check normalizes the settings of the kind. It returns a usageError for the first
	// wrong one. It performs no I/O. The settings of the site
	// and those that all kinds have are already checked.
	check(site *siteConfig) error

	// stateName returns the name of a set without a name in a state that is in a file,
	// where such a set is alone.
	stateName() string

	// identity returns the identity of the origin without opening it. It is zero if it depends
	// on the base URL of the site, and that is not known.
	identity(site *siteConfig) (scan.Identity, error)

	// open assembles the parts of the set. Nothing runs yet.
	open(ctx context.Context, m *member) (*content, error)
}

// A verifier is a setConfig that can be checked against this computer.
type verifier interface {
	// verify returns a usageError if there is no such folder, for example. It changes
	// nothing, and sends no requests.
	verify() error
}

// setSettings are the settings that sets of all kinds have.
type setSettings struct {
	kind string
	name string // the folder of the set's documents; "" if the set is alone
	path string // of the site's URLs that the set serves, below the base URL; "" or with a slash at the end

	rescan    time.Duration // the longest interval between complete scans
	maxDelete percent
	hold      span // of deletions; zero for until they are confirmed
	moved     bool // the state is of this origin when it was elsewhere
	dumps     bool
	aboutSet  string // the URI of a description of the set
	pingToken string // "" for no pings
}

func (s *setSettings) common() *setSettings { return s }

func (s *setSettings) sharedFlags(flags *flag.FlagSet) {
	s.maxDelete, s.hold = 0.25, span(time.Hour)
	flags.DurationVar(&s.rescan, "rescan", 5*time.Minute, "")
	flags.Var(&s.maxDelete, "max-delete", "")
	flags.Var(&s.hold, "max-delete-hold", "")
	flags.BoolVar(&s.moved, "moved", false, "")
	flags.BoolVar(&s.dumps, "dumps", true, "")
	flags.StringVar(&s.aboutSet, "set-described-by", "", "")
	secretFlag(flags, "ping-token", storeText(&s.pingToken), nil)
}

// checkShared is check for the settings of all kinds.
func (s *setSettings) checkShared() error {
	switch {
	case s.rescan < time.Second:
		return usagef("--rescan %v: give a second or more, such as 30s, 5m or 1h", s.rescan)
	case s.hold < 0:
		return usagef("--max-delete-hold %v: give a time such as 30m or 1h, or 0 for no end", &s.hold)
	case s.aboutSet != "" && rsxml.CheckURI(s.aboutSet) != nil:
		return usagef("--set-described-by: %w", rsxml.CheckURI(s.aboutSet))
	}
	return nil
}

// apart says how to give a set another state than the one it has been refused.
func (s *setSettings) apart() string {
	if s.name != "" {
		return "give the set another name"
	}
	return "give another file with --state"
}

// storeOptions keep a new set closed until all resources have been seen. In them, zero is
// the default, and a negative value what zero is on the command line.
func (s *setSettings) storeOptions() *scan.SetOptions {
	return &scan.SetOptions{
		AwaitScan:     true,
		MaxDelete:     cmp.Or(float64(s.maxDelete), -1),
		MaxDeleteHold: cmp.Or(time.Duration(s.hold), -1),
	}
}

// ownFlags returns the names of the flags that sets of the other kinds do not have.
func (k kind) ownFlags() []string {
	shared := newFlags(k.command)
	new(siteConfig).flags(shared)
	new(setSettings).sharedFlags(shared)
	var names []string
	k.siteFlags().VisitAll(func(f *flag.Flag) {
		if shared.Lookup(f.Name) == nil {
			names = append(names, f.Name)
		}
	})
	return names
}

// commandFlags returns the flags of the command of a kind: those of the site, those of all
// sets and those of the kind.
func commandFlags(command string, site *siteConfig, set setConfig) *flag.FlagSet {
	flags := newFlags(command)
	site.flags(flags)
	set.common().sharedFlags(flags)
	set.flags(flags)
	return flags
}

// siteFlags returns the flags of the command of a kind, which set nothing.
func (k kind) siteFlags() *flag.FlagSet { return commandFlags(k.command, new(siteConfig), k.create()) }
