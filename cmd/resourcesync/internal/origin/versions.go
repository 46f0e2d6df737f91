package origin

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync/adapters/versions"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/internal/paths"
)

// openVersions opens the folder for the copies that c configures. If they are kept as long
// as Change Lists, these link to them, and the copies are kept until no list has their
// changes.
func openVersions(c *Folder, m *Set) (*versions.Store, error) {
	path := m.State.Place + "-versions"
	if c.versions != "" {
		published, err := paths.Real(c.Dir)
		if err == nil {
			path, err = paths.Real(c.versions)
		}
		inside := false
		if err == nil {
			inside, err = paths.IsInside(filepath.Join(path, "copy"), published)
		}
		if errors.Is(err, fs.ErrNotExist) { // it will be created
			inside, err = paths.IsInside(path, published)
		}
		switch {
		case err != nil:
			return nil, settings.Errorf("--versions %q: %w", c.versions, paths.Reason(err))
		case inside:
			return nil, settings.Errorf("--versions %q is in the folder that is published; give one elsewhere, as in --versions /var/lib/resourcesync/versions", c.versions)
		}
	}
	keep, retained := c.Keep, m.Retained
	if keep >= retained {
		retained += m.Window + time.Hour
		keep = max(keep, retained)
	}
	store, err := versions.Open(path, keep)
	linked := false
	if err == nil {
		linked, err = store.Link(retained)
	}
	if err != nil {
		return nil, settings.Errorf("versions cannot be kept: %w; give another folder with --versions", err)
	}
	if !linked {
		m.Log.Warn(fmt.Sprintf("Change Lists have no links to versions, because they outlast them; versions are only in Change Dumps. For links, give --keep-versions %s or more, or a shorter --retain", settings.SpanText(m.Retained)),
			"keep-versions", settings.SpanText(c.Keep))
	}
	return store, nil
}
