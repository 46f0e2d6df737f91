package dir

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/internal/baseurl"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// parseBase checks the URL of the folder itself.
func parseBase(baseURL string) (*url.URL, error) {
	u, err := baseurl.Parse(baseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("dir: base URL: %w", err)
	case hasEncodedSlash(u):
		return nil, fmt.Errorf("dir: base URL %q has an encoded slash", baseURL)
	}
	return u, nil
}

// uri returns the URI of the file at key, and whether both are short enough. The key
// need not be UTF-8.
func (d *Dir) uri(key string) (uri string, ok bool) {
	if len(key) > resourcesync.MaxKeyLength {
		return "", false
	}
	if isPlain(key) {
		uri = d.base + key
	} else {
		uri = d.base + (&url.URL{Path: key}).EscapedPath()
	}
	return uri, len(uri) <= rsxml.MaxURI
}

// isURI reports whether the file at key has this URI.
func (d *Dir) isURI(uri, key string) bool {
	if isPlain(key) {
		rest, ok := strings.CutPrefix(uri, d.base)
		return ok && rest == key && len(uri) <= rsxml.MaxURI
	}
	now, ok := d.uri(key)
	return ok && now == uri
}

// isPlain reports whether no byte of key needs to be percent-encoded. It may report false
// for others.
func isPlain(key string) bool {
	for i := range len(key) {
		switch c := key[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '/', c == '.', c == '-', c == '_', c == '~':
		default:
			return false
		}
	}
	return true
}

// Key returns the key of the file or folder at u, the URL of a request, whether or not it
// exists. ok is false if u is not below the base URL. A folder has a slash at its end, but
// the one that is published has the key "".
func (d *Dir) Key(u *url.URL) (key string, ok bool) {
	key, ok = strings.CutPrefix(u.Path, d.basePath)
	return key, ok && !hasEncodedSlash(u)
}

// hasEncodedSlash reports whether the path of u has an encoded slash, which is data and
// not a separator. No file name contains a slash, and decoding would split the name.
func hasEncodedSlash(u *url.URL) bool {
	return strings.Contains(u.RawPath, "%2F") || strings.Contains(u.RawPath, "%2f")
}

// validName reports whether name is a valid file name that the operating system does
// not interpret as a path.
func validName(name string) bool {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "\x00") {
		return false
	}
	return os.PathSeparator == '/' || !strings.ContainsAny(name, `\:*?"<>|`)
}

// admits reports whether the file or folder at key is published, provided that all
// folders on its path are. name is the last element of key.
func (d *Dir) admits(key, name string, isDir bool) bool {
	if !d.dotFiles && name[0] == '.' || d.isExcluded(key, name, isDir) {
		return false
	}
	return d.exclude == nil || !d.exclude(key, isDir)
}

// locate opens the folder of the file at key and returns the file's name, provided that
// both are published. The caller releases the folder.
func (d *Dir) locate(key string) (in *folder, name string, err error) {
	if _, ok := d.uri(key); !ok {
		return nil, "", notExist(key)
	}
	cut := strings.LastIndexByte(key, '/') + 1
	name = key[cut:]
	in, err = d.folder(key[:cut])
	if err != nil {
		return nil, "", err
	}
	if !validName(name) || !d.admits(key, name, false) {
		in.release()
		return nil, "", notExist(key)
	}
	return in, name, nil
}

// folder opens the folder at prefix, which is empty or ends in a slash, provided that
// it and all folders on its path are published. The caller releases it.
func (d *Dir) folder(prefix string) (*folder, error) {
	if !d.root.tryHold() {
		return nil, fs.ErrClosed
	}
	in, err := d.root.openFolder(".") // a scan reads its own list of names
	d.root.release()
	if err != nil {
		return nil, err
	}
	for end := 0; end < len(prefix); end++ {
		name, _, _ := strings.Cut(prefix[end:], "/")
		end += len(name)
		if !validName(name) || !d.admits(prefix[:end], name, true) {
			in.release()
			return nil, notExist(prefix)
		}
		sub, err := in.openFolder(name)
		in.release()
		if err != nil {
			return nil, err
		}
		in = sub
	}
	return in, nil
}

func notExist(key string) error {
	return &fs.PathError{Op: "open", Path: key, Err: fs.ErrNotExist}
}
