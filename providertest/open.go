package providertest

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/resourcesync-go/resourcesync"
)

var openRules = []rule{
	{"Open/bytes", opener, openBytes},
	{"Open/unknown", opener, openUnknown},
	{"OpenChange/bytes", changeOpener | changer, openChangeBytes},
	{"OpenChange/past", changeOpener | changer | editing, openChangePast},
	{"OpenChange/unknown", changeOpener, openChangeUnknown},
}

// bytes: the content has the Length and the Hashes of the resource.
func openBytes(ctx context.Context, s *subject) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	const most = 100
	for i := 0; i < len(all); i += 1 + len(all)/most {
		if err := checkBytes(all[i], func() (io.ReadCloser, error) { return s.opener.Open(ctx, all[i]) }); err != nil {
			return err
		}
	}
	return nil
}

// checkBytes reports an error if the content that open opens is not that of r.
func checkBytes(r resourcesync.Resource, open func() (io.ReadCloser, error)) error {
	content, err := open()
	if err != nil {
		return fmt.Errorf("%s cannot be opened: %w", quote(r.Key), err)
	}
	defer content.Close()
	var digests []hash.Hash
	var all []io.Writer
	for _, a := range algorithms {
		h := a.new()
		digests = append(digests, h)
		all = append(all, h)
	}
	n, err := io.Copy(io.MultiWriter(all...), content)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", quote(r.Key), err)
	}
	if length, known := r.Length.Bytes(); known && n != length {
		return fmt.Errorf("%s has %d bytes, its Length is %d", quote(r.Key), n, length)
	}
	for _, h := range r.Hashes {
		for i, a := range algorithms {
			if digest := hex.EncodeToString(digests[i].Sum(nil)); a.name == h.Algorithm && digest != h.Digest {
				return fmt.Errorf("%s has %s %s, its hash is %s", quote(r.Key), h.Algorithm, digest, h.Digest)
			}
		}
	}
	if err := content.Close(); err != nil {
		return fmt.Errorf("%s cannot be closed: %w", quote(r.Key), err)
	}
	return nil
}

// unknown: for a resource that is not in the set, the error is io/fs.ErrNotExist.
func openUnknown(ctx context.Context, s *subject) error {
	keys, err := s.spare(ctx, 1)
	if err != nil {
		return err
	}
	content, err := s.opener.Open(ctx, newResource(keys[0], 0))
	return checkNotExist(keys[0], content, err)
}

func checkNotExist(key string, content io.ReadCloser, err error) error {
	if err == nil {
		return errors.Join(fmt.Errorf("%s can be opened, but it is not in the set", quote(key)), content.Close())
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not in the set: the error is %q, expected io/fs.ErrNotExist", quote(key), err)
	}
	return nil
}

// bytes: the content has the Length and the Hashes of the changed resource. A deleted
// resource has no content.
func openChangeBytes(ctx context.Context, s *subject) error {
	changes, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	const most = 100
	for i := 0; i < len(changes); i += 1 + len(changes)/most {
		if err := s.checkChange(ctx, changes[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *subject) checkChange(ctx context.Context, c resourcesync.Change) error {
	if c.Type == resourcesync.Deleted {
		content, err := s.changeOpener.OpenChange(ctx, c)
		return checkNotExist(c.Resource.Key, content, err)
	}
	err := checkBytes(c.Resource, func() (io.ReadCloser, error) { return s.changeOpener.OpenChange(ctx, c) })
	if err != nil {
		return fmt.Errorf("%s: %w", changeTitle(c), err)
	}
	return nil
}

// past: the content of replaced and deleted versions can still be opened.
func openChangePast(ctx context.Context, s *subject) error {
	seen, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	if err := s.live(ctx, func(edit) error { return nil }); err != nil {
		return err
	}
	changes, err := s.listChanges(ctx)
	if err != nil {
		return err
	}
	for _, c := range added(changes, seen) {
		if err := s.checkChange(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// unknown: for a change that never happened, the error is io/fs.ErrNotExist.
func openChangeUnknown(ctx context.Context, s *subject) error {
	keys, err := s.spare(ctx, 1)
	if err != nil {
		return err
	}
	r := newResource(keys[0], 0)
	content, err := s.changeOpener.OpenChange(ctx, resourcesync.Change{
		Type: resourcesync.Created, Datetime: r.LastModified, Resource: r,
	})
	return checkNotExist(keys[0], content, err)
}
