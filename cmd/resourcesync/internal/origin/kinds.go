// Package origin has the kinds of sets: a file for each, with its settings and how it opens.
package origin

import (
	"context"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/scan"
)

// A Kind is a kind of set, by the origin of its resources.
type Kind struct {
	Name    string // in configuration files
	Command string // that publishes one set of the kind
	Create  func() Config
}

// Kinds are the kinds of sets. A new one needs a line here, a Config, and the help of
// its command.
var Kinds = []Kind{
	{"folder", "serve", func() Config { return new(Folder) }},
	{"upstream", "proxy", func() Config { return new(Upstream) }},
	{"oai", "oai", func() Config { return new(oaiConfig) }},
	{"table", "table", func() Config { return new(tableConfig) }},
	{"bucket", "bucket", func() Config { return new(bucketConfig) }},
	{"source", "replica", func() Config { return new(sourceConfig) }},
}

// A Config is the configuration of a set. The methods are called in the order of their
// declarations.
type Config interface {
	// Shared returns the settings that sets of all kinds have.
	Shared() *Common

	// Declare adds the settings of the kind. It may change the meaning of settings that
	// the catalog already has.
	Declare(c *settings.Catalog)

	// Check normalizes the settings of the kind. Its error is [settings.Faults] or a
	// [settings.Fault]. It performs no I/O. The settings of the site and of all kinds
	// have already been checked. state is the value of --state.
	Check(state string) error

	// StateName returns the name that an unnamed set has in a state file, in which such
	// a set is alone.
	StateName() string

	// Question returns a question for operators, who should answer it before they confirm held
	// deletions.
	Question() string

	// Identity returns the identity of the origin without opening it. It is zero if it depends
	// on the base URL of the site, and the base URL is unknown.
	Identity(baseURL string) (scan.Identity, error)

	// Open assembles the parts of the set. Nothing runs yet.
	Open(ctx context.Context, set *Set) (*Content, error)
}

// Own returns the settings that sets of some other kinds do not have.
func (k Kind) Own() *settings.Catalog {
	own := new(settings.Catalog)
	k.Create().Declare(own)
	return own
}

// HasOwn reports whether only sets of the kind, or of some kinds, have a flag.
func (k Kind) HasOwn(flag string) bool {
	s := k.Own().Lookup(flag)
	return s != nil && !s.Argument
}
