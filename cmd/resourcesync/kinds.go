package main

import (
	"context"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A kind is a kind of set, by the origin of its resources.
type kind struct {
	name    string // in configuration files
	command string // that publishes one set of the kind
	create  func() setConfig
}

// kinds are the kinds of sets. A new one needs a line here, a setConfig, and the help of
// its command.
var kinds = []kind{
	{"folder", "serve", func() setConfig { return new(folderConfig) }},
	{"upstream", "proxy", func() setConfig { return new(upstreamConfig) }},
	{"oai", "oai", func() setConfig { return new(oaiConfig) }},
	{"table", "table", func() setConfig { return new(tableConfig) }},
	{"bucket", "bucket", func() setConfig { return new(bucketConfig) }},
	{"source", "replica", func() setConfig { return new(sourceConfig) }},
}

// A setConfig is the configuration of a set. The methods are called in the order of their
// declarations.
type setConfig interface {
	// shared returns the settings that sets of all kinds have.
	shared() *setSettings

	// declare adds the settings of the kind. It may change the meaning of settings that
	// the catalog already has.
	declare(c *settings.Catalog)

	// check normalizes the settings of the kind. Its error is [settings.Faults] or a
	// [settings.Fault]. It performs no I/O. The settings of the site and of all kinds
	// have already been checked. state is the value of --state.
	check(state string) error

	// stateName returns the name that an unnamed set has in a state file, in which such
	// a set is alone.
	stateName() string

	// question asks operators to look at something before they confirm held deletions.
	question() string

	// identity returns the identity of the origin without opening it. It is zero if it depends
	// on the base URL of the site, and the base URL is unknown.
	identity(baseURL string) (scan.Identity, error)

	// open assembles the parts of the set. Nothing runs yet.
	open(ctx context.Context, set *originSet) (*content, error)
}

// own returns the settings that sets of some other kinds do not have.
func (k kind) own() *settings.Catalog {
	own := new(settings.Catalog)
	k.create().declare(own)
	return own
}

// hasOwn reports whether only sets of the kind, or of some kinds, have a flag.
func (k kind) hasOwn(flag string) bool {
	s := k.own().Lookup(flag)
	return s != nil && !s.Argument
}
