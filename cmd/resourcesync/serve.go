package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
)

// serve publishes a folder until ctx is done.
func serve(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parseServe(args)
	if errors.Is(err, flag.ErrHelp) {
		printServeHelp(stdout)
		return nil
	}
	if err == nil {
		err = checkFolder(c.folder)
	}
	if err != nil {
		return err
	}
	return publish(ctx, &c, stdout, stderr)
}

func checkFolder(folder string) error {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no folder %q; give one whose files are to be published", folder)
	case err != nil:
		return usagef("folder %q: %w", folder, reason(err))
	case !info.IsDir():
		return usagef("%q is a file; give the folder that it is in", folder)
	}
	return nil
}

// reason returns err without the path, which is not quoted in it.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
