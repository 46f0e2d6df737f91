package changes

import (
	"errors"
	"fmt"

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

// CheckKey reports why key cannot be that of a resource.
func CheckKey(key string) error {
	switch {
	case key == "":
		return errors.New("a resource has no key")
	case len(key) > resourcesync.MaxKeyLength:
		return fmt.Errorf("key %.50q… has %d bytes, of at most %d", key, len(key), resourcesync.MaxKeyLength)
	}
	return nil
}
