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
func openVersions(c *folderConfig, st *state) (*versions.Store, error) {
	path := st.place + "-versions"
	if c.versions != "" {
		published, err := realPath(c.folder)
		if err == nil {
			path, err = realPath(c.versions)
		}
		inside := false
		if err == nil {
			inside, err = isInside(filepath.Join(path, "copy"), published)
		}
		if errors.Is(err, fs.ErrNotExist) { // it will be created
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

// A history opens the version of a file after a change: a copy, or the file itself if
// it is unchanged. So a file that is older than the copies has a version too.
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

// Checksum implements [resourcesync.Checksummer]: the journal has the checksums that
// scans have computed.
func (h history) Checksum(ctx context.Context, r resourcesync.Resource) (uint32, error) {
	return h.files.Checksum(ctx, r)
}

// keepVersion begins the copy of a file that a scan reads. Files of the first scan are
// not changes, so they are not copied.
func (s *folderSet) keepVersion() (dir.Copy, error) {
	if !s.scanner.isReady {
		return nil, nil
	}
	return s.copies.Create()
}
