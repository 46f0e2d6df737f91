package dir

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"

	"github.com/resourcesync-go/resourcesync"
)

// Part scans the files and folders at paths only. Paths are keys, sorted; one that ends
// in a slash stands for all files below this folder, and any other for one file. Part
// returns the ranges of their keys and the resources that exist there now, under the
// contract of [Dir.Resources]. Stores replace the contents of the ranges.
//
// The resources of a folder are one range, because all of their keys begin with its path
// and a slash.
func (d *Dir) Part(ctx context.Context, paths []string) ([]resourcesync.Range, iter.Seq2[resourcesync.Resource, error]) {
	ranges := make([]resourcesync.Range, len(paths))
	for i, path := range paths {
		ranges[i] = rangeAt(path)
	}
	return ranges, func(yield func(resourcesync.Resource, error) bool) {
		s := d.newScan(&d.skips, &d.fails)
		s.yield(ctx, func(ctx context.Context, _ *folder) { s.walkPaths(ctx, paths) }, yield)
	}
}

// rangeAt returns the range of keys that path stands for.
func rangeAt(path string) resourcesync.Range {
	if key, isFolder := strings.CutSuffix(path, "/"); isFolder {
		return below(key)
	}
	return only(path)
}

// walkPaths calls the methods of s for the files at paths.
func (s *scanRun) walkPaths(ctx context.Context, paths []string) {
	for len(paths) > 0 && ctx.Err() == nil {
		prefix := paths[0][:strings.LastIndexByte(paths[0], '/')+1]
		n := 1
		if prefix != paths[0] {
			for n < min(len(paths), batch) && isIn(prefix, paths[n]) {
				n++
			}
		}
		if s.walkFolder(ctx, prefix, paths[:n]) != nil {
			return // recorded by failed
		}
		paths = paths[n:]
	}
}

// isIn reports whether path is the path of a file in the folder at prefix.
func isIn(prefix, path string) bool {
	name, ok := strings.CutPrefix(path, prefix)
	return ok && !strings.Contains(name, "/")
}

// walkFolder calls the methods of s for the files at paths, which are all in the folder
// at prefix, or for everything below this folder, if prefix is the only path.
func (s *scanRun) walkFolder(ctx context.Context, prefix string, paths []string) error {
	key := strings.TrimSuffix(prefix, "/")
	if len(prefix) >= resourcesync.MaxKeyLength {
		s.skip(key, errTooLong)
		return nil
	}
	in, err := s.folder(prefix)
	if err != nil {
		if !isNone(err) {
			for _, path := range paths {
				s.unreadable(ctx, strings.TrimSuffix(path, "/"), rangeAt(path), err)
			}
		}
		return nil
	}
	defer in.release()
	if paths[0] == prefix {
		return s.walk(ctx, in, key, s)
	}
	var found []file
	for _, key := range paths {
		name := key[len(prefix):]
		if !validName(name) || !s.admits(key, name, false) {
			continue
		}
		st, err := in.lstat(name)
		switch {
		case err != nil:
			if !isNone(err) {
				s.unreadable(ctx, key, only(key), err)
			}
		case st.mode&fs.ModeSymlink != 0:
			s.skip(key, errLink)
		case st.mode.IsRegular():
			found = append(found, file{key, name, st})
		}
	}
	if len(found) == 0 {
		return nil
	}
	return s.files(ctx, in, found)
}

// isNone reports whether err means that nothing published exists at a path.
func isNone(err error) bool { return errors.Is(err, fs.ErrNotExist) || isBadName(err) }
