package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// Open opens the file of r for reading, as [resourcesync.Opener] has it. If it is
// no longer listed or is not in the version that r's Stamp stands for, the error
// is [fs.ErrNotExist]; without a Stamp, Length and LastModified tell. That is
// seen when the file is opened, not while it is read.
//
// What is returned is an io.Seeker and an io.ReaderAt as well.
func (d *Dir) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, info, err := d.open(r.Key)
	if err != nil {
		return nil, err
	}
	if !isVersion(r, info) {
		f.Close()
		return nil, notExist(r.Key)
	}
	return f, nil
}

// Checksum returns the CRC-32 of the version of a file that r's Stamp stands for,
// as [resourcesync.Checksummer] has it. A scan computes it together with the
// hashes; if it was told to compute none, the error is errors.ErrUnsupported.
func (d *Dir) Checksum(_ context.Context, r resourcesync.Resource) (crc32 uint32, err error) {
	_, crc, ok := cutSum(r.Stamp)
	if !ok {
		return 0, fmt.Errorf("dir: checksum of %q: %w", r.Key, errors.ErrUnsupported)
	}
	return crc, nil
}

// isVersion reports whether info describes the version of a file that r is.
func isVersion(r resourcesync.Resource, info fs.FileInfo) bool {
	now := newResource(r.Key, r.URI, info)
	if r.Stamp != "" {
		stamp, _, _ := cutSum(strings.TrimPrefix(r.Stamp, unsettledMark))
		return stamp == now.Stamp
	}
	_, known := r.Length.Bytes()
	return (!known || r.Length == now.Length) &&
		(r.LastModified.IsZero() || r.LastModified.Equal(now.LastModified))
}

// open opens the file at key if it is one of those that are listed, and
// otherwise returns fs.ErrNotExist or fs.ErrPermission.
func (d *Dir) open(key string) (*os.File, fs.FileInfo, error) {
	in, name, err := d.locate(key)
	if err != nil {
		return nil, nil, named(key, err)
	}
	defer in.Close()
	f, info, err := openFile(in, name)
	if err != nil {
		return nil, nil, named(key, err)
	}
	return f, info, nil
}

// named returns err, or fs.ErrNotExist if err says that no file can be called
// that.
func named(key string, err error) error {
	if isBadName(err) {
		return notExist(key)
	}
	return err
}

// Covers reports whether u is the URL of a file that is listed, as
// [resourcesync.Coverer] has it. It looks at that file and walks over no others.
// A URL with a query is not listed.
func (d *Dir) Covers(u *url.URL) bool {
	key, ok := d.key(u)
	if !ok || u.RawQuery != "" {
		return false
	}
	in, name, err := d.locate(key)
	if err != nil {
		return false
	}
	defer in.Close()
	info, err := in.Lstat(name)
	return err == nil && info.Mode().IsRegular()
}

// isNotListed reports whether err means that there is no such file for anyone
// to have.
func isNotListed(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
