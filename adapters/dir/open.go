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

// Open implements [resourcesync.Opener]: it opens the file of r for reading. If the file is no
// longer listed, or r's Stamp names another version, the error is [fs.ErrNotExist]. Without a
// Stamp, Length and LastModified identify the version. Open checks the version only when it opens
// the file.
//
// The result is also an io.Seeker and an io.ReaderAt.
func (d *Dir) Open(ctx context.Context, r resourcesync.Resource) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, found, err := d.open(r.Key)
	if err != nil {
		return nil, err
	}
	if !isVersion(r, &found) {
		f.Close()
		return nil, notExist(r.Key)
	}
	return f, nil
}

// Checksum implements [resourcesync.Checksummer]: it returns the CRC-32 of the version
// that r's Stamp identifies. A scan computes it together with the hashes. Without
// hashes, the error is errors.ErrUnsupported.
func (d *Dir) Checksum(_ context.Context, r resourcesync.Resource) (crc32 uint32, err error) {
	_, crc, ok := cutSum(r.Stamp)
	if !ok {
		return 0, fmt.Errorf("dir: checksum of %q: %w", r.Key, errors.ErrUnsupported)
	}
	return crc, nil
}

// isVersion reports whether f is the version of a file that r describes.
func isVersion(r resourcesync.Resource, f *file) bool {
	now := newResource(r.Key, r.URI, f.name, f.status)
	if r.Stamp != "" {
		stamp, _, _ := cutSum(strings.TrimPrefix(r.Stamp, unsettledMark))
		return stamp == now.Stamp
	}
	_, known := r.Length.Bytes()
	return (!known || r.Length == now.Length) &&
		(r.LastModified.IsZero() || r.LastModified.Equal(now.LastModified))
}

// open opens the file at key if it is listed. Otherwise the error is fs.ErrNotExist or
// fs.ErrPermission.
func (d *Dir) open(key string) (*os.File, file, error) {
	in, name, err := d.locate(key)
	if err != nil {
		return nil, file{}, asNotExist(key, err)
	}
	defer in.release()
	st, err := in.lstat(name)
	if err == nil && !st.mode.IsRegular() {
		err = notExist(key) // opening a device could have effects
	}
	if err != nil {
		return nil, file{}, asNotExist(key, err)
	}
	f, st, err := in.open(name)
	if err != nil {
		return nil, file{}, asNotExist(key, err)
	}
	return f.osFile(name), file{key, name, st}, nil
}

// asNotExist returns fs.ErrNotExist if err means that no file can have this name, and
// otherwise err.
func asNotExist(key string, err error) error {
	if isBadName(err) {
		return notExist(key)
	}
	return err
}

// Covers implements [resourcesync.Coverer]: it reports whether u is the URL of a listed
// file. It examines only that file. A URL with a query is not listed.
func (d *Dir) Covers(u *url.URL) bool {
	key, ok := d.Key(u)
	return ok && u.RawQuery == "" && !isFolder(key) && d.Lists(key)
}

// isFolder reports whether key names a folder.
func isFolder(key string) bool { return key == "" || strings.HasSuffix(key, "/") }

// Lists reports whether the file at key exists and is listed, or, if key is empty or ends
// in a slash, whether the folder exists and its files may be listed. It examines only that
// file or folder and those above it.
func (d *Dir) Lists(key string) bool { return d.ListsEach([]string{key})[0] }

// ListsEach returns the results of Lists for several keys. Those in the same folder should
// be next to each other: then the folder is opened once.
func (d *Dir) ListsEach(keys []string) []bool {
	listed := make([]bool, len(keys))
	var (
		in    *folder
		above string // the key of in
		err   = fs.ErrClosed
	)
	for i, key := range keys {
		file, inFolder := strings.CutSuffix(key, "/")
		cut := strings.LastIndexByte(file, '/') + 1
		if i == 0 || above != key[:cut] {
			if err == nil {
				in.release()
			}
			above = key[:cut]
			in, err = d.folder(above)
		}
		listed[i] = err == nil && (key == "" || d.listsIn(in, file, file[cut:], inFolder))
	}
	if err == nil {
		in.release()
	}
	return listed
}

// listsIn reports whether the file or folder at key is published. in is the folder that it
// is in, and name the last element of key.
func (d *Dir) listsIn(in *folder, key, name string, isDir bool) bool {
	if _, ok := d.uri(key); !ok || !validName(name) || !d.admits(key, name, isDir) {
		return false
	}
	if !isDir {
		st, err := in.lstat(name)
		return err == nil && st.mode.IsRegular()
	}
	sub, err := in.openFolder(name)
	if err != nil {
		return false
	}
	sub.release()
	return true
}

// isNotListed reports whether err means that the file is not published.
func isNotListed(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}
