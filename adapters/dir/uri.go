package dir

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// parseBase checks the URL of the folder itself.
func parseBase(baseURL string) (*url.URL, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return nil, fmt.Errorf("dir: base URL: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("dir: base URL %q is not an absolute http or https URL", baseURL)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, fmt.Errorf("dir: base URL %q has more than a host and a path", baseURL)
	case hasEncodedSlash(u):
		return nil, fmt.Errorf("dir: base URL %q has an encoded slash", baseURL)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	if !strings.HasSuffix(u.Path, "/") {
		return nil, fmt.Errorf("dir: base URL %q does not end in a slash", baseURL)
	}
	return u, nil
}

// uri returns the URI of the file at key, and whether the lengths of both are
// within their limits. The key's bytes need not be UTF-8.
func (d *Dir) uri(key string) (uri string, ok bool) {
	if len(key) > resourcesync.MaxKeyLength {
		return "", false
	}
	uri = d.base + (&url.URL{Path: key}).EscapedPath()
	return uri, len(uri) <= rsxml.MaxURI
}

// key returns the key that u, the URL of a request, stands for.
func (d *Dir) key(u *url.URL) (key string, ok bool) {
	key, ok = strings.CutPrefix(u.Path, d.basePath)
	return key, ok && !hasEncodedSlash(u)
}

// hasEncodedSlash reports whether the path of u has a slash that is data and
// does not separate. No file name has one, and decoded it would look like two
// names.
func hasEncodedSlash(u *url.URL) bool {
	return strings.Contains(u.RawPath, "%2F") || strings.Contains(u.RawPath, "%2f")
}

// validName reports whether name can be that of a file in a folder, and is
// nothing that the operating system would understand as a path.
func validName(name string) bool {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "\x00") {
		return false
	}
	return os.PathSeparator == '/' || !strings.ContainsAny(name, `\:*?"<>|`)
}

// admits reports whether the file or folder at key is one of those to list, all
// folders on the way being so. Name is the last element of key.
func (d *Dir) admits(key, name string, isDir bool) bool {
	if !d.dotFiles && name[0] == '.' {
		return false
	}
	return d.exclude == nil || !d.exclude(key, isDir)
}

// locate opens the folder that the file at key is in and returns the file's name,
// if both are such as are listed. The caller closes the folder.
func (d *Dir) locate(key string) (in *os.Root, name string, err error) {
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
		in.Close()
		return nil, "", notExist(key)
	}
	return in, name, nil
}

// folder opens the folder at prefix, which is empty or ends in a slash, if it and
// all on the way are such as are listed.
func (d *Dir) folder(prefix string) (*os.Root, error) {
	in, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for end := 0; end < len(prefix); end++ {
		name, _, _ := strings.Cut(prefix[end:], "/")
		end += len(name)
		if !validName(name) || !d.admits(prefix[:end], name, true) {
			in.Close()
			return nil, notExist(prefix)
		}
		sub, err := openFolder(in, name)
		in.Close()
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
