package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gocloud.dev/blob"

	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/bucketurl"
	"github.com/resourcesync-go/resourcesync/cmd/resourcesync/internal/settings"
	"github.com/resourcesync-go/resourcesync/destination"
	"github.com/resourcesync-go/resourcesync/destination/blobsink"
)

// checkState returns an error if the state of a copy is in a wrong place.
func (c *Config) checkState() error {
	if !bucketurl.Is(c.Folder) {
		if c.state != "" {
			return settings.Fault("state-folder", "is for copies in buckets; the state of a copy in a folder is in that folder")
		}
		return nil
	}
	if c.state == "" {
		return fmt.Errorf("no --state-folder given; give a folder of this computer for the state of the copy in the bucket, as in --state-folder /var/lib/mirror, or in %s", settings.VariableOf("state-folder"))
	}
	_, err := bucketurl.Parse(c.Folder)
	return err
}

// openSink opens the folder or bucket of the copy. The caller calls the returned function
// after the last use.
func (c *Config) openSink(ctx context.Context) (destination.Sink, func() error, error) {
	if !bucketurl.Is(c.Folder) {
		open := destination.OpenFolder
		if c.rebuild {
			open = destination.AdoptFolder
		}
		folder, err := open(c.Folder)
		if err != nil {
			return nil, nil, err
		}
		return folder, folder.Close, nil
	}
	at, err := bucketurl.Parse(c.Folder)
	if err != nil {
		return nil, nil, err
	}
	if err := c.claimState(at); err != nil {
		return nil, nil, err
	}
	opened, err := at.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if at.Prefix != "" {
		opened = blob.PrefixedBucket(opened, at.Prefix)
	}
	sink, err := blobsink.New(ctx, opened)
	if err != nil {
		opened.Close()
		return nil, nil, fmt.Errorf("%s: %w", at, err)
	}
	return sink, func() error { return errors.Join(sink.Close(), opened.Close()) }, nil
}

// claimState records the bucket in the state. With the state of another bucket, missing
// copies would pass for existing ones.
func (c *Config) claimState(at *bucketurl.Bucket) error {
	if err := os.MkdirAll(c.state, 0o700); err != nil {
		return err
	}
	name := filepath.Join(c.state, "bucket")
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return os.WriteFile(name, []byte(at.String()), 0o600)
	}
	if err == nil && string(text) != at.String() {
		err = fmt.Errorf("--state-folder %s has the state of the copy in %s, not in %s; give another folder", c.state, text, at)
	}
	return err
}
