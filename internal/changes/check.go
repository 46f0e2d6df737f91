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
	if err := checkKeyOf(r); err != nil {
		return err
	}
	if err := rsxml.CheckURI(r.URI); err != nil {
		return fmt.Errorf("resource %q: %w", r.Key, err)
	}
	return nil
}

// CheckFields reports why r cannot be published in full.
func CheckFields(r *resourcesync.Resource) error {
	if err := checkKeyOf(r); err != nil {
		return err
	}
	if err := rsxml.CheckResource(r); err != nil {
		return fmt.Errorf("resource %q: %w", r.Key, err)
	}
	return nil
}

func checkKeyOf(r *resourcesync.Resource) error {
	if r.Key == "" {
		return fmt.Errorf("the resource at %q has no key", r.URI)
	}
	return CheckKey(r.Key)
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
