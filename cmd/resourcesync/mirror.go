package main

import (
	"context"
	"errors"
	"io"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/mirror"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
)

func parseMirror(args []string) (*mirror.Config, error) {
	m, c := new(mirror.Config), new(settings.Catalog)
	m.Declare(c)
	others, err := parse(c, args)
	if err == nil && len(others) != 2 {
		err = errors.New("give the URL of a Source and the folder or bucket for the copy, as in: resourcesync mirror https://example.org/ copy")
	}
	if err == nil {
		m.Source, m.Folder = others[0], others[1]
		err = c.Locate(m.Check())
	}
	return m, refuse("mirror", err)
}

// mirrorSource copies a Source into a folder or a bucket, or compares them.
func mirrorSource(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	m, err := parseMirror(args)
	if err != nil {
		return err
	}
	return m.Run(ctx, stdout, stderr)
}
