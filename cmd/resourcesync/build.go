package main

import (
	"context"
	"io"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/build"
)

// buildDocuments writes the documents of a folder as files or as objects of a bucket.
func buildDocuments(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	b, c := build.New()
	err := parseAlone("build", c, args)
	if err == nil {
		err = c.Locate(b.Check())
	}
	if err != nil {
		return err
	}
	return b.Run(ctx, stdout, stderr)
}
