package daemon

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/origin"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/site"
)

// confirmCommand returns the beginning of the command that confirms held deletions: all of it for a
// configuration file that has the state.
func confirmCommand(c *site.Config) string {
	if c.File == "" {
		return ConfirmCommand
	}
	path, err := filepath.Abs(c.File)
	if err != nil {
		path = c.File
	}
	return ConfirmCommand + " --config " + settings.ShellWord(path)
}

// release returns the command that confirms the held deletions of all sets of p. If hidden, it lacks
// a password, because operators see it on a page.
func (p *publication) release() (command string, hidden bool) {
	c := p.site
	words := []string{confirmCommand(c)}
	given, hidden := c.Catalog.Words("base-url", "state")
	if c.File != "" {
		return strings.Join(append(words, given...), " "), hidden
	}
	k := origin.Kinds[slices.IndexFunc(origin.Kinds, func(k origin.Kind) bool { return k.Name == c.Sets[0].Shared().Kind })]
	var names []string
	for s := range k.Own().All() {
		if !strings.HasSuffix(s.Name, "-file") { // Words has those, too
			names = append(names, s.Name)
		}
	}
	own, secret := c.Catalog.Words(names...)
	words = append(append(append(words, k.Command), own...), given...)
	if c.State == "" { // the default depends on the user
		words = append(words, "--state", settings.ShellWord(p.state.Place))
	}
	if p.derived && c.StateIsPostgres() {
		words = append(words, "--base-url", settings.ShellWord(p.base.String()))
	}
	return strings.Join(words, " "), hidden || secret
}
