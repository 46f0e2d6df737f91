package dir

import (
	"context"

	"github.com/resourcesync-go/resourcesync"
)

// Count returns the number of files that a scan would list, and their size in bytes,
// for an estimate of the time that the scan takes. It opens folders, but no files. The
// numbers are inexact if files change meanwhile or cannot be read.
func (d *Dir) Count(ctx context.Context) (files, bytes int64, err error) {
	in, err := d.folder("")
	if err != nil {
		return 0, 0, err
	}
	defer in.release()
	var c counter
	err = d.walk(ctx, in, "", &c)
	return c.number, c.bytes, err
}

// A counter is a visitor that counts files.
type counter struct{ number, bytes int64 }

func (c *counter) files(_ context.Context, _ *folder, found []file) error {
	c.number += int64(len(found))
	for _, f := range found {
		c.bytes += f.status.size
	}
	return nil
}

func (*counter) enter(string) error                                            { return nil }
func (*counter) unreadable(context.Context, string, resourcesync.Range, error) {}
func (*counter) skip(string, error)                                            {}
