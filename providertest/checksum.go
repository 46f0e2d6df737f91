package providertest

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/resourcesync-go/resourcesync"
)

// checksumRules compare the checksums of a Checksummer with the content that it opens as an
// Opener or ChangeOpener.
var checksumRules = []rule{
	{"Checksum/bytes", opener | checksummer, checksumBytes},
	{"Checksum/changes", changeOpener | changeChecksummer | changer, checksumChanges},
}

// bytes: a checksum is that of the content of the resource.
func checksumBytes(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	const most = 100
	for i := 0; i < len(all); i += 1 + len(all)/most {
		r := all[i]
		err := checkSum(ctx, s.checksummer, r, func() (io.ReadCloser, error) { return s.opener.Open(ctx, r) })
		if err != nil {
			return fmt.Errorf("%s: %w", quote(r.Key), err)
		}
	}
	return nil
}

// changes: a checksum is that of the content of the changed resource.
func checksumChanges(ctx context.Context, s *subject) error {
	changes, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	const most = 100
	for i := 0; i < len(changes); i += 1 + len(changes)/most {
		c := changes[i]
		if c.Type == resourcesync.Deleted {
			continue
		}
		err := checkSum(ctx, s.changeChecksummer, c.Resource, func() (io.ReadCloser, error) { return s.changeOpener.OpenChange(ctx, c) })
		if err != nil {
			return fmt.Errorf("%s: %w", changeTitle(c), err)
		}
	}
	return nil
}

// checkSum reports an error if the checksum of summer is not that of the content that open
// opens. Other rules check that the content is that of r. If r does not describe its
// content, any checksum is an error.
func checkSum(ctx context.Context, summer resourcesync.Checksummer, r resourcesync.Resource, open func() (io.ReadCloser, error)) error {
	sum, err := summer.Checksum(ctx, r)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the error of Checksum is %w, expected errors.ErrUnsupported if it is unknown", err)
	}
	if _, sized := r.Length.Bytes(); !sized && len(r.Hashes) == 0 || checkBytes(r, open) != nil {
		return nil
	}
	content, err := open()
	if err != nil {
		return err
	}
	defer content.Close()
	read := crc32.NewIEEE()
	if _, err := io.Copy(read, content); err != nil {
		return err
	}
	if got := read.Sum32(); got != sum {
		return fmt.Errorf("its CRC-32 is %08x, but Checksum returns %08x", got, sum)
	}
	return nil
}
