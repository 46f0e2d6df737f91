package changes

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/resourcesync-go/resourcesync"
	"github.com/resourcesync-go/resourcesync/rsxml"
)

// Check reports why r cannot be published at all. Other invalid fields do not stop a
// scan: documents omit them.
func Check(r *resourcesync.Resource) error {
	return check(r, func() error { return rsxml.CheckURI(r.URI) })
}

// CheckFields reports why r cannot be published in full.
func CheckFields(r *resourcesync.Resource) error {
	return check(r, func() error { return rsxml.CheckResource(r) })
}

func check(r *resourcesync.Resource, fields func() error) error {
	if r.Key == "" {
		return fmt.Errorf("the resource at %q has no key", r.URI)
	}
	if err := CheckKey(r.Key); err != nil {
		return err
	}
	if err := fields(); err != nil {
		return fmt.Errorf("resource %q: %w", r.Key, err)
	}
	return nil
}

// CheckKey reports why a resource cannot have this key.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("a resource has no key")
	case len(key) > resourcesync.MaxKeyLength:
		return fmt.Errorf("key %.50q… has %d bytes, of at most %d", key, len(key), resourcesync.MaxKeyLength)
	}
	return nil
}

// Place returns the decoded path and the query by which a request finds the resource at u,
// on any scheme and host. path is empty if u has no path, such as a URN, which no request can name.
func Place(u *url.URL) (path, query string) {
	if u.Opaque != "" {
		return "", ""
	}
	return cmp.Or(u.Path, "/"), u.RawQuery
}

// Stat returns the Stat of a range. Its newest change and its size identify its state:
// every change is newer than all before it, and the newest change never goes back while
// the range has resources.
func Stat(newest, count int64) resourcesync.Stat {
	version := strconv.AppendInt(make([]byte, 0, 32), newest, 36)
	version = strconv.AppendInt(append(version, '.'), count, 36)
	return resourcesync.Stat{
		Count:        count,
		LastModified: time.UnixMicro(newest).UTC(),
		Version:      string(version),
	}
}
