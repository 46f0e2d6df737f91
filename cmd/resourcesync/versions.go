package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
)

// openVersions opens the folder for the copies that c asks for.
func openVersions(c *serveConfig, st *state) (*versions.Store, error) {
	path := c.versions
	if path == "" {
		path = st.place + "-versions"
	} else {
		published, err := realPath(c.folder)
		if err == nil {
			path, err = realPath(path)
		}
		inside := false
		if err == nil {
			inside, err = isInside(filepath.Join(path, "copy"), published)
		}
		if errors.Is(err, fs.ErrNotExist) { // it has yet to be made
			inside, err = isInside(path, published)
		}
		switch {
		case err != nil:
			return nil, usagef("--versions %q: %w", c.versions, reason(err))
		case inside:
			return nil, usagef("--versions %q is in the folder that is published; give one elsewhere, as in --versions /var/lib/resourcesync/versions", c.versions)
		}
	}
	store, err := versions.Open(path, time.Duration(c.keep))
	if err != nil {
		return nil, usagef("versions cannot be kept: %w; give another folder with --versions", err)
	}
	return store, nil
}

// pruneVersions removes versions that are no longer kept.
func (p *publication) pruneVersions(ctx context.Context) {
	if p.versions == nil {
		return
	}
	if err := p.versions.Prune(ctx); err != nil {
		p.log.Warn("old versions not removed", "error", err)
	}
}

// A history opens files as they were after a change: copies of them, or the files
// themselves if they are still the same. So a file that was there before copies
// were kept has its latest version all the same.
type history struct {
	*versions.Store
	files *dir.Dir
}

func (h history) OpenChange(ctx context.Context, c resourcesync.Change) (io.ReadCloser, error) {
	content, err := h.Store.OpenChange(ctx, c)
	if errors.Is(err, fs.ErrNotExist) && c.Type != resourcesync.Deleted {
		return h.files.Open(ctx, c.Resource)
	}
	return content, err
}

// Checksum implements [resourcesync.Checksummer]: what a scan has found out of a
// version is in the journal.
func (h history) Checksum(ctx context.Context, r resourcesync.Resource) (uint32, error) {
	return h.files.Checksum(ctx, r)
}

// keepVersion begins the copy of a file that a scan reads. What the first scan
// finds is no change, and not kept.
func (p *publication) keepVersion() (dir.Copy, error) {
	if !p.scanner.isReady {
		return nil, nil
	}
	return p.versions.Create()
}
