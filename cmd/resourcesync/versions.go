package main

import (
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/adapters/dir"
	"github.com/resourcesync-go/resourcesync/adapters/versions"
)

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
